"""`tidegate chaos` beside a run: who is named is hit, all is noted, and what cannot be done is said."""

from faults import *


class Chaos(FaultTest):
    def chaos(self, run, *arguments, expect=0):
        done = subprocess.run([BIN / "tidegate", "chaos", run.run_dir, *arguments], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout if expect == 0 else done.stderr

    def noted(self, run):
        return [json.loads(line) for line in (run.run_dir / "chaos.jsonl").read_text().splitlines()]

    def pid_of(self, run, role, index):
        return wait_until(lambda: next((p["pid"] for p in run.processes()
                                        if (p["role"], p["index"]) == (role, index)), None), 10, f"{role} {index}")

    def state_of(self, pid):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]

    def start(self):
        spec = json.loads(cluster_yaml({"job": {"workers": 2, "mode": ["forever"]}}))
        spec["supervision"] = {"worker": {"max_restarts": 1000, "backoff": "1ms"}}
        run = self.launch(json.dumps(spec))
        run.wait_for_training(5)
        return run

    def test_one_process(self):
        run = self.start()
        first = self.pid_of(run, "worker", 1)
        said = self.chaos(run, "kill", "worker-job-1")
        self.assertEqual(said, f"kill worker-job-1 pid {first} SIGKILL\n")
        again = wait_until(lambda: (pid := self.pid_of(run, "worker", 1)) != first and pid, 10, "another process")
        wait_until(lambda: "worker_resumes" in run.events_text(), 10, "the other process to go on")
        shard = self.pid_of(run, "shard", 0)
        self.chaos(run, "stop", "shard-0")
        wait_until(lambda: self.state_of(shard) == "T", 5, "a stopped shard")
        self.chaos(run, "continue", "role:shard", "--seed", "1")
        self.chaos(run, "continue", "shard-0")
        wait_until(lambda: self.state_of(shard) != "T", 5, "a shard that goes on")
        noted = self.noted(run)
        self.assertEqual([one["kind"] for one in noted], ["kill", "stop", "continue", "continue"])
        self.assertEqual(set(noted[0]), set(json.loads(run.events_text().splitlines()[0])), "the shape of an event")
        died = next(json.loads(line) for line in run.events_text().splitlines() if "process_died" in line)
        self.assertLess(noted[0]["unix_ns"], died["unix_ns"])
        self.assertTrue(alive(again))

    def test_at_random(self):
        run = self.start()
        said = self.chaos(run, "random", "--every", "20ms..100ms", "--count", "6", "--actions", "kill,stop:30ms",
                          "--seed", "4")
        self.assertTrue(said.endswith("6 hits\n"), said)
        whats = [one["kind"] for one in self.noted(run)]
        self.assertEqual(whats.count("kill") + whats.count("stop"), 6)
        self.assertNotIn("T", [self.state_of(p["pid"]) for p in run.processes() if alive(p["pid"])])

    def test_interrupted_it_leaves_nobody_stopped(self):
        run = self.start()
        chaos = subprocess.Popen([BIN / "tidegate", "chaos", run.run_dir, "random", "--every", "10ms", "--actions",
                                  "stop:60s"], stdout=subprocess.DEVNULL)
        pids = [self.pid_of(run, "worker", rank) for rank in (0, 1)]
        wait_until(lambda: all(self.state_of(pid) == "T" for pid in pids), 10, "two stopped workers")
        chaos.send_signal(signal.SIGINT)
        self.assertEqual(chaos.wait(10), 0)
        wait_until(lambda: not any(self.state_of(pid) == "T" for pid in pids), 5, "workers that go on")

    def test_what_cannot_be_done_is_said(self):
        run = self.start()
        self.assertIn("there are: coordinator-0", self.chaos(run, "kill", "worker-job-7", expect=1))
        self.assertIn("no aggregator of this run lives", self.chaos(run, "kill", "role:aggregator", expect=1))
        self.assertIn("did you mean 'kill'?", self.chaos(run, "kil", "shard-0", expect=2))
        # A pid that is somebody else's by now.
        stranger = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        listed = run.processes()
        listed[-1]["pid"] = stranger.pid
        (run.run_dir / "pids.json").write_text(json.dumps(listed))
        last = f"{listed[-1]['role']}-{listed[-1]['job']}-{listed[-1]['index']}"
        self.assertIn(f"no process {last} of this run lives", self.chaos(run, "kill", last, expect=1))
        self.assertIsNone(stranger.poll())
        self.assertFalse((run.run_dir / "chaos.jsonl").exists())
        run.process.send_signal(signal.SIGINT)
        run.wait(10)
        self.assertIn("this run has ended", self.chaos(run, "kill", "shard-0", expect=1))


main()
