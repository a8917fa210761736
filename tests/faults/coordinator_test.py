"""Promise 4 for the coordinator: it is killed at any moment, comes back alone, nobody else starts again and no clock
is lost or waited for; the result is that of a run in which nothing happened."""

from faults import *

OFTEN = {"coordinator": {"max_restarts": 1000, "backoff": "1ms"}}


class Coordinator(FaultTest):
    def yaml(self, job, supervision=OFTEN, **rest):
        return json.dumps({**json.loads(cluster_yaml({"job": job}, **rest)), "supervision": supervision})

    def kill_until_the_end(self, run, seed, pause, kills=1000):
        """Kills the coordinator now and then from the first moment on. Returns how often."""
        chance = random.Random(seed)
        killed = set()
        while run.process.poll() is None and len(killed) < kills:
            time.sleep(chance.uniform(*pause))  # the moment is what is drawn
            for pid in [p["pid"] for p in run.processes() if p["role"] == "coordinator"]:
                if pid not in killed and alive(pid):
                    os.kill(pid, signal.SIGKILL)
                    killed.add(pid)
        return len(killed)

    def assert_nobody_else_restarted(self, run):
        """Every process but the coordinator had one pid."""
        again = [line for line in run.events_text().splitlines()
                 if '"process_restarted"' in line and "coordinator-0" not in line]
        self.assertEqual(again, [])

    def test_same_bits_and_nobody_else_restarts(self):
        ways = (("none", "auto", "exchange"), ("per_host", "auto", "spans"), ("none", "tcp", "in_place"))
        for seed, (aggregators, transport, way) in enumerate(ways):
            with self.subTest(aggregators=aggregators, transport=transport, way=way):
                job = {"workers": 3, "mode": ["workload", 400, 8000, way], "aggregators": aggregators,
                       "optimizer": {"name": "adam", "learning_rate": 0.05}}
                calm = {**job, "mode": ["workload", 400, 0, way]}
                expected = self.hash_of(self.run_to_end(self.yaml(calm, transport=transport)))
                run = self.launch(self.yaml(job, transport=transport))
                killed = self.kill_now_and_then(run, "coordinator", 8, seed, (0.05, 0.3))
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                self.assertGreaterEqual(killed, 4)
                self.assertGreaterEqual(self.count_events(run, "process_restarted"), killed - 1)
                self.assert_nobody_else_restarted(run)
                self.assert_nothing_left(run)

    def test_from_the_first_moment_to_the_last(self):
        job = {"workers": 3, "mode": ["workload", 60, 3000, "exchange"],
               "optimizer": {"name": "adam", "learning_rate": 0.05}}
        expected = self.hash_of(self.run_to_end(self.yaml(job)))
        kills = 0
        for seed in range(6):
            with self.subTest(seed=seed):
                run = self.launch(self.yaml(job))
                kills += self.kill_until_the_end(run, seed, (0.0, 0.25))
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                self.assert_nobody_else_restarted(run)
                self.assert_nothing_left(run)
        self.assertGreaterEqual(kills, 12)

    def test_clocks_go_on_while_it_is_away(self):
        run = self.launch(self.yaml({"workers": 2, "mode": ["workload", 1500, 4000, "exchange"]},
                                    {"coordinator": {"max_restarts": 10, "backoff": "2s"}}))
        self.kill_now_and_then(run, "coordinator", 1, 0)  # it is back at once
        wait_until(lambda: self.count_events(run, "coordinator_resumes") == 1, 20, "its first return")
        before = run.clock()
        self.kill_now_and_then(run, "coordinator", 1, 1)  # two seconds later
        wait_until(lambda: self.count_events(run, "coordinator_resumes") == 2, 20, "its second return")
        wait_until(lambda: run.clock() > before + 200, 2, f"more than {before} + 200 clocks; {run.output}")
        self.assertEqual(run.wait(60), 0, run.output)
        self.assert_nobody_else_restarted(run)

    def test_beside_workers_that_die(self):
        often = {**OFTEN, "worker": OFTEN["coordinator"]}
        clocks, workers = 300, 3
        run = self.launch(self.yaml({"workers": workers, "mode": ["count", clocks, 8000], "reduce": "sum",
                                     "consistency": {"policy": "ssp", "staleness": 2}}, often))
        self.wait_for_a_clock(run)
        for seed in range(4):
            self.kill_now_and_then(run, "worker", 1, seed, (0.02, 0.1))
            self.kill_now_and_then(run, "coordinator", 1, seed, (0.0, 0.05))
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(run.result()["jobs"][0]["metrics"]["pushes"], clocks * workers)
        self.assert_nothing_left(run)

    def test_too_often_is_too_often(self):
        run = self.launch(self.yaml({"workers": 2, "mode": ["forever"]},
                                    {"coordinator": {"max_restarts": 2, "backoff": "1ms"}}))
        self.kill_now_and_then(run, "coordinator", 3, 5)
        self.assertEqual(run.wait(30), 3, run.output)
        self.assertIn("supervision.coordinator.max_restarts", run.output)
        self.assert_nothing_left(run)


main()
