"""Promises 2, 3 and 4 for workers: whichever is killed, and whenever, another process goes on where it was,
nobody else starts again, and the result is that of a run in which nothing happened."""

from faults import *

OFTEN = {"worker": {"max_restarts": 1000, "backoff": "1ms"}}


class Workers(FaultTest):
    def yaml(self, job, supervision=OFTEN, **rest):
        return json.dumps({**json.loads(cluster_yaml({"job": job}, **rest)), "supervision": supervision})

    def test_same_bits_as_if_nothing_had_happened(self):
        ways = (("momentum", "auto", "exchange"), ("adam", "ucx", "spans"), ("adam", "tcp", "in_place"))
        for seed, (optimizer, transport, way) in enumerate(ways):
            with self.subTest(optimizer=optimizer, transport=transport, way=way):
                job = {"workers": 3, "mode": ["workload", 400, 8000, way],
                       "optimizer": {"name": optimizer, "learning_rate": 0.05}}
                calm = {**job, "mode": ["workload", 400, 0, way]}
                expected = self.hash_of(self.run_to_end(self.yaml(calm, transport=transport)))
                run = self.launch(self.yaml(job, transport=transport))
                killed = self.kill_now_and_then(run, "worker", 8, seed, (0.02, 0.25))
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                self.assertGreaterEqual(killed, 5)
                self.assertEqual(self.count_events(run, "process_restarted"), killed)
                started = run.events_text()
                for other in ("shard-0", "shard-1", "coordinator-0"):
                    self.assertEqual(started.count(f"{other} pid"), 1, "nobody else starts again")
                self.assert_nothing_left(run)

    def test_spares_take_the_places_of_the_dead_with_the_same_bits(self):
        job = {"workers": 3, "spares": 2, "optimizer": {"name": "adam", "learning_rate": 0.05}}
        expected = self.hash_of(self.run_to_end(self.yaml({**job, "mode": ["workload", 600, 0, "exchange"]})))
        run = self.launch(self.yaml({**job, "mode": ["workload", 600, 8000, "exchange"]}))
        wait_until(lambda: self.count_events(run, "spare_waits") > 0, 20, "a spare waits")
        killed = self.kill_now_and_then(run, "worker", 8, 11, (0.1, 0.4))
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertGreaterEqual(killed, 4)
        self.assertEqual(self.count_events(run, "process_restarted"), killed)
        placed = self.count_events(run, "spare_placed")
        self.assertGreater(placed, 0)
        self.assertLessEqual(placed, killed)
        self.assertEqual(self.count_events(run, "spare_ended"), 0)
        self.assert_nothing_left(run)

    def test_no_push_is_lost_or_applied_twice(self):
        policies = ({"policy": "ssp", "staleness": 2}, {"policy": "async"}, {"policy": "bsp"})
        for seed, policy in enumerate(policies):
            with self.subTest(policy=policy):
                clocks, workers = 300, 3
                run = self.launch(self.yaml({"workers": workers, "mode": ["count", clocks, 8000], "reduce": "sum",
                                             "consistency": policy}))
                killed = self.kill_now_and_then(run, "worker", 8, 100 + seed, (0.02, 0.25))
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertGreaterEqual(killed, 5)
                job = run.result()["jobs"][0]
                self.assertEqual(job["metrics"]["pushes"], clocks * workers)
                if policy["policy"] != "async":
                    self.assertLessEqual(job["staleness_max"], policy.get("staleness", 0))
                self.assert_nothing_left(run)

    def test_behind_aggregators(self):
        job = {"workers": 4, "aggregators": {"fan_in": 2}, "mode": ["workload", 200, 8000, "exchange"],
               "optimizer": {"name": "adam", "learning_rate": 0.05}}
        expected = self.hash_of(self.run_to_end(self.yaml({**job, "mode": ["workload", 200, 0, "exchange"]})))
        run = self.launch(self.yaml(job))
        self.assertGreaterEqual(self.kill_now_and_then(run, "worker", 6, 7, (0.02, 0.25)), 4)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)

    def test_a_program_that_begins_anew_is_refused(self):
        run = self.launch(self.yaml({"workers": 2, "mode": ["forgets", 400]}))
        self.kill_now_and_then(run, "worker", 1, 3)
        self.assertEqual(run.wait(30), 1, run.output)
        self.assertIn("begin at session.now()", run.output)
        self.assert_nothing_left(run)

    def test_too_often_is_too_often(self):
        run = self.launch(self.yaml({"workers": 2, "mode": ["forever"]},
                                    {"worker": {"max_restarts": 3, "backoff": "1ms"}}))
        # One of the two dies a fourth time at the latest with the seventh kill.
        self.assertLessEqual(self.kill_now_and_then(run, "worker", 8, 5), 7)
        self.assertEqual(run.wait(30), 3, run.output)
        self.assertIn("supervision.worker.max_restarts", run.output)
        self.assert_nothing_left(run)


main()
