"""`tidegate scale`: workers join and leave a job that runs; each pushes from one clock to another, every push counts
once, and what dies beside that is replaced."""

import account
from faults import *


class Scale(FaultTest):
    def yaml(self, job, **rest):
        job = {"optimizer": {"name": "sgd", "learning_rate": 1.0}, "reduce": "sum", **job}
        return cluster_yaml({"job": job}, **rest)

    def scale(self, run, workers, code=0, *options):
        done = subprocess.run([str(BIN / "tidegate"), "scale", str(run.run_dir), f"workers={workers}", *options],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr + run.output)
        return done.stderr

    def await_added(self, run, count):
        wait_until(lambda: self.count_events(run, "worker_added") >= count, 20, f"{count} have joined; {run.output}")

    def test_what_was_pushed_counts_once(self):
        clocks = 1500
        policies = ({"policy": "bsp"}, {"policy": "ssp", "staleness": 2}, {"policy": "async"})
        for policy in policies:
            with self.subTest(policy=policy):
                run = self.launch(self.yaml({"workers": 2, "max_workers": 5, "consistency": policy,
                                             "mode": ["count", clocks, 8000, "fewer"]}, replicas=1))
                self.wait_for_a_clock(run)
                self.scale(run, 5)
                self.await_added(run, 3)
                self.scale(run, 1)
                wait_until(lambda: self.count_events(run, "worker_left") == 4, 20, f"four have left; {run.output}")
                self.scale(run, 3)
                self.await_added(run, 5)
                self.kill(run, "shard-0")
                self.kill(run, "worker-2")
                self.assertEqual(run.wait(90), 0, run.output)
                job = run.result()["jobs"][0]
                self.assertEqual(job["metrics"]["pushes"], account.pushes_of(job["changes"], 2, clocks))
                if policy["policy"] != "async":
                    self.assertLessEqual(job["staleness_max"], policy.get("staleness", 0))
                self.assert_nothing_left(run)

    def test_the_mean_is_over_those_who_push(self):
        clocks = 600  # everybody pushes ones: each mean is 1 but where it is over another number than have pushed
        run = self.launch(self.yaml({"workers": 1, "max_workers": 4, "reduce": "mean",
                                     "mode": ["count", clocks, 8000, "fewer"]}, replicas=1))
        self.wait_for_a_clock(run)
        self.scale(run, 4)
        self.await_added(run, 3)
        self.kill(run, "shard-1")
        self.scale(run, 2)
        self.kill(run, "coordinator-0")
        self.assertEqual(run.wait(90), 0, run.output)
        self.assertEqual(run.result()["jobs"][0]["metrics"]["pushes"], clocks)
        self.assert_nothing_left(run)

    def test_a_launcher_that_does_not_answer_is_waited_for_and_that_is_said(self):
        run = self.launch(self.yaml({"workers": 1, "max_workers": 2, "mode": ["count", 600, 8000, "fewer"]}))
        self.wait_for_a_clock(run)
        os.kill(run.process.pid, signal.SIGSTOP)
        asking = subprocess.Popen([str(BIN / "tidegate"), "scale", str(run.run_dir), "workers=2"], stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, text=True)
        try:
            self.assertIn("waiting for the launcher", asking.stderr.readline())
        finally:
            os.kill(run.process.pid, signal.SIGCONT)
        self.assertEqual(asking.wait(30), 0, asking.stderr.read())
        asking.stderr.close()
        self.assertEqual(run.wait(90), 0, run.output)
        self.assert_nothing_left(run)

    def test_what_cannot_be_is_said(self):
        run = self.launch(self.yaml({"workers": 2, "max_workers": 3, "mode": ["count", 300, 8000, "fewer"]}))
        self.wait_for_a_clock(run)
        self.assertIn("max_workers", self.scale(run, 4, 1))
        self.assertIn("no job 'x'", self.scale(run, 2, 1, "--job", "x"))
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertIn("no launcher lives", self.scale(run, 3, 1))
        self.assert_nothing_left(run)


main()
