"""`on_worker_loss: shrink`: a worker that dies does not come back, the others go on from one clock over fewer, and every
push that was taken in counts once."""

from faults import *


class Shrink(FaultTest):
    def yaml(self, job, **rest):
        job = {"on_worker_loss": "shrink", "optimizer": {"name": "sgd", "learning_rate": 1.0}, **job}
        return cluster_yaml({"job": job}, **rest)

    def left(self, run):
        """Rank and first clock without it, in the order of the events."""
        details = [json.loads(line)["detail"] for line in run.events_text().splitlines()
                   if json.loads(line)["kind"] == "worker_left"]
        found = [re.fullmatch(r"job rank (\d+): \d+ workers go on from clock (\d+)", detail) for detail in details]
        return {int(one[1]): int(one[2]) for one in found}

    def kill_at_a_clock(self, run, *names):
        self.wait_for_a_clock(run)
        for name in names:
            self.kill(run, name)

    def test_what_was_pushed_counts_once(self):
        policies = ({"policy": "bsp"}, {"policy": "ssp", "staleness": 2}, {"policy": "async"})
        for policy in policies:
            with self.subTest(policy=policy):
                clocks = 300
                run = self.launch(self.yaml({"workers": 3, "mode": ["count", clocks, 8000, "fewer"], "reduce": "sum",
                                             "consistency": policy, "checkpoint": {"every": "100 clocks"}}))
                self.kill_at_a_clock(run, "worker-1")
                self.assertEqual(run.wait(60), 0, run.output)
                left = self.left(run)
                self.assertEqual(list(left), [1])
                self.assertTrue(0 < left[1] < clocks)
                job = run.result()["jobs"][0]
                self.assertEqual(job["metrics"]["pushes"], 2 * clocks + left[1])
                if policy["policy"] != "async":
                    self.assertLessEqual(job["staleness_max"], policy.get("staleness", 0))
                self.assertEqual(self.count_events(run, "process_restarted"), 0)
                kept = [json.loads(line)["detail"] for line in run.events_text().splitlines()
                        if json.loads(line)["kind"] == "checkpoint"]
                self.assertTrue(kept[-1].endswith(f" clock {clocks}"), f"the last has all that was pushed: {kept}")
                self.assert_nothing_left(run)

    def test_the_mean_is_over_those_who_are_left(self):
        # Everybody pushes ones, so each mean is 1 but where it is over another number than have pushed.
        clocks = 300
        run = self.launch(self.yaml({"workers": 4, "mode": ["count", clocks, 8000, "fewer"], "reduce": "mean"},
                                    replicas=1))
        self.kill_at_a_clock(run, "worker-0")
        wait_until(lambda: self.left(run), 10, f"rank 0 has left; {run.output}")
        self.kill(run, "worker-2")
        wait_until(lambda: len(self.left(run)) == 2, 10, f"rank 2 has left; {run.output}")
        self.kill(run, "shard-0")  # its replica has to know
        self.assertEqual(run.wait(60), 0, run.output)
        job = run.result()["jobs"][0]
        self.assertEqual(job["metrics"]["pushes"], clocks)
        self.assertEqual(len(job["parameters_sha256"]), 64, "another rank than 0 has made it")
        self.assertEqual(sorted(self.left(run)), [0, 2])
        self.assert_nothing_left(run)

    def test_what_a_sum_was_made_without_is_not_gone_back_to(self):
        """Under ssp a checkpoint has sums beyond its clock, and rank 0 would push what those had none of."""
        run = self.launch(self.yaml({"workers": 4, "mode": ["count", 2000, 8000, "fewer"], "reduce": "sum",
                                     "consistency": {"policy": "ssp", "staleness": 2}, "aggregators": {"fan_in": 2},
                                     "checkpoint": {"every": "10 clocks", "keep": 1}}))
        self.kill_at_a_clock(run, "worker-0")
        wait_until(lambda: self.left(run), 10, f"rank 0 has left; {run.output}")
        before = self.count_events(run, "checkpoint")
        wait_until(lambda: self.count_events(run, "checkpoint") > before + 1, 30, f"a checkpoint since; {run.output}")
        self.kill(run, "shard-0")
        self.assertEqual(run.wait(60), 1, run.output)
        self.assertIn("rank 0 had left by then, behind an aggregator", run.output)
        self.assert_nothing_left(run)

    def test_behind_aggregators_and_beside_the_coordinator(self):
        clocks = 1000  # on a busy machine 300 were over before the second kill
        run = self.launch(self.yaml({"workers": 4, "aggregators": {"fan_in": 2}, "reduce": "sum",
                                     "mode": ["count", clocks, 8000, "fewer"]}, replicas=1))
        self.kill_at_a_clock(run, "worker-3", "coordinator-0")
        self.assertEqual(run.wait(60), 0, run.output)
        # Not from the events: those that nobody has polled yet are gone with their coordinator.
        job = run.result()["jobs"][0]
        left = {change["rank"]: change["clock"] for change in job["changes"] if not change["joins"]}
        self.assertEqual(list(left), [3])
        self.assertEqual(job["metrics"]["pushes"], 3 * clocks + left[3])
        self.assert_nothing_left(run)

    def test_the_last_one_comes_back(self):
        clocks = 300
        run = self.launch(self.yaml({"workers": 2, "mode": ["count", clocks, 8000, "fewer"], "reduce": "sum"}))
        self.kill_at_a_clock(run, "worker-0")
        wait_until(lambda: self.left(run), 10, f"rank 0 has left; {run.output}")
        self.kill(run, "worker-1")
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.count_events(run, "process_restarted"), 1)
        self.assertEqual(run.result()["jobs"][0]["metrics"]["pushes"], clocks + self.left(run)[0])
        self.assert_nothing_left(run)


main()
