"""What a worker keeps outlives its process: whoever takes its place has the state of exactly the clock at which it goes
on, wherever the process before was killed; or hears that it is lost."""

from faults import *

OFTEN = {role: {"max_restarts": 100000, "backoff": "1ms"} for role in ("worker", "shard")}


def mode(clocks, size, lifetime_us=0, pause_us=0, way="push"):
    return ["state", clocks, size, lifetime_us, pause_us, way]


class State(FaultTest):
    def yaml(self, job, **rest):
        return json.dumps({**json.loads(cluster_yaml({"job": {"reduce": "sum", **job}}, **rest)),
                           "supervision": OFTEN})

    def logs(self, run):
        return "".join(path.read_text() for path in sorted(run.run_dir.glob("logs/worker-job-*.log")))

    def test_ten_thousand_commits_while_workers_kill_themselves(self):
        """At any instruction: a thread of each process does. Large states make commits long, so that kills hit them."""
        policies = ({"policy": "bsp"}, {"policy": "ssp", "staleness": 1}, {"policy": "async"})
        workers, commits, kills = 3, 0, 0
        for number, (policy, way) in enumerate(zip(policies, ("exchange", "push", "push"))):
            clocks = 1200
            run = self.launch(self.yaml({"workers": workers, "consistency": policy,
                                         "mode": mode(clocks, 300_000, 60_000, way=way)},
                                        **({"replicas": 1} if number == 1 else {})))
            self.assertEqual(run.wait(150), 0, run.output)
            self.assertEqual(run.result()["jobs"][0]["metrics"]["pushes"], clocks * workers, "each push once")
            commits += clocks * workers
            kills += self.count_events(run, "process_restarted")
            self.assertNotIn("state is lost", self.logs(run))
            self.assert_nothing_left(run)
        print(f"{commits} clocks committed, {kills} kills", flush=True)
        self.assertGreaterEqual(commits, 10_000)
        self.assertGreater(kills, 0)

    def test_behind_aggregators_and_where_shards_die(self):
        run = self.launch(self.yaml({"workers": 4, "aggregators": {"fan_in": 2},
                                     "mode": mode(400, 100_000, 80_000, 2000)}, replicas=1))
        self.kill_now_and_then(run, "shard", 3, 1, (0.2, 0.5))
        self.assertEqual(run.wait(120), 0, run.output)
        self.assertEqual(run.result()["jobs"][0]["metrics"]["pushes"], 1600)
        self.assertNotIn("state is lost", self.logs(run))
        self.assert_nothing_left(run)

    @staticmethod
    def clock(run):
        return max(map(int, re.findall(r"clock (\d+)", run.output)), default=0)

    def wait_for_a_clock(self, run):
        wait_until(lambda: "clock" in run.output, 30, f"a live line; {run.output}")

    def test_a_job_that_goes_back_hears_that_its_state_is_lost(self):
        run = self.launch(self.yaml({"workers": 2, "checkpoint": {"every": "200 clocks"},
                                     "mode": mode(400, 1000, 0, 8000)}), terminal=True)
        wait_until(lambda: self.count_events(run, "checkpoint") >= 1, 40, "a checkpoint")
        # The version of its clock is an old one by then.
        wait_until(lambda: self.clock(run) > 210, 30, f"a clock above 210; {run.output[-500:]}")
        self.kill(run, "shard-0")
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertIn("go back to their last checkpoints", run.output)
        self.assertIn("state is lost at clock", self.logs(run))
        self.assertEqual(run.result()["jobs"][0]["metrics"]["pushes"], 800)
        self.assert_nothing_left(run)

    def test_a_run_that_another_launcher_goes_on_with_has_lost_its_state(self):
        run = self.launch(self.yaml({"workers": 2, "checkpoint": {"every": "20 clocks"},
                                     "mode": mode(400, 1000, 0, 8000)}))
        wait_until(lambda: self.count_events(run, "checkpoint") >= 2, 40, "two checkpoints")
        run.process.kill()
        run.process.wait()
        run.resume()
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertIn("state is lost at clock", self.logs(run))
        self.assertNotIn("state is lost at clock 0\n", self.logs(run))

    def test_more_than_the_job_allows_is_told(self):
        run = self.run_to_end(self.yaml({"workers": 1, "state": {"max": "4KiB"}, "mode": mode(10, 20_000)}), expect=1)
        self.assertIn("jobs.*.state.max allows 4096", run.output)

    def test_a_job_without_memory_for_state_is_told(self):
        run = self.run_to_end(self.yaml({"workers": 1, "state": {"max": 0}, "mode": mode(10, 100)}), expect=1)
        self.assertIn("this worker has no memory for state", run.output)

    def test_a_descriptor_that_does_not_come_through_is_told(self):
        text = json.loads(self.yaml({"workers": 1, "mode": mode(10, 100)}))
        command = text["jobs"]["job"]["command"]
        text["jobs"]["job"]["command"] = [sys.executable, "-c", "import subprocess, sys\n"
                                          "sys.exit(subprocess.call(sys.argv[1:], close_fds=True))", *command]
        run = self.run_to_end(json.dumps(text), expect=1)
        self.assertIn("did not come through", run.output)


main()
