"""Promise 4 for aggregators: whichever is killed, and whenever, another process goes on where it was, nobody else
starts again, and the result is that of a run in which nothing happened."""

from faults import *

OFTEN = {"max_restarts": 1000, "backoff": "1ms"}
TREE = {"fan_in": 2}


class Aggregators(FaultTest):
    def yaml(self, job, replicas=0, **rest):
        made = json.loads(cluster_yaml({"job": job}, **rest))
        made["supervision"] = {role: OFTEN for role in ("worker", "shard", "aggregator", "coordinator")}
        if replicas:
            made["cluster"]["replicas"] = replicas
        return json.dumps(made)

    def expected(self, job, clocks, way):
        calm = {**job, "mode": ["workload", clocks, 0, way], "aggregators": "none"}
        return self.hash_of(self.run_to_end(self.yaml(calm)))

    def test_same_bits_as_if_nothing_had_happened(self):
        """Two levels: 0 to 3 are those of pairs of workers, 4 and 5 sum those."""
        ways = (("momentum", "auto", "exchange"), ("adam", "auto", "in_place"), ("adam", "tcp", "spans"))
        for seed, (optimizer, transport, way) in enumerate(ways):
            with self.subTest(optimizer=optimizer, transport=transport, way=way):
                job = {"workers": 6, "aggregators": TREE, "mode": ["workload", 300, 8000, way],
                       "optimizer": {"name": optimizer, "learning_rate": 0.05}}
                expected = self.expected(job, 300, way)
                run = self.launch(self.yaml(job, transport=transport))
                killed = self.kill_now_and_then(run, "aggregator", 6, seed, (0.1, 0.4))
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                self.assertGreaterEqual(killed, 4)
                # One that dies when its job is done is not missed.
                self.assertIn(self.count_events(run, "process_restarted"), (killed - 1, killed), run.output)
                self.assertEqual(self.count_events(run, "going_back"), 0)
                started = run.events_text()
                for other in ("shard-0", "shard-1", "coordinator-0", *(f"worker-job-{rank}" for rank in range(6))):
                    self.assertEqual(started.count(f"{other} pid"), 1, "nobody else starts again")
                self.assert_nothing_left(run)

    def test_no_push_is_lost_or_applied_twice(self):
        for seed, policy in enumerate(({"policy": "ssp", "staleness": 2}, {"policy": "async"}, {"policy": "bsp"})):
            with self.subTest(policy=policy):
                clocks, workers = 300, 4
                run = self.launch(self.yaml({"workers": workers, "mode": ["count", clocks, 8000], "reduce": "sum",
                                             "aggregators": TREE, "consistency": policy}))
                killed = self.kill_now_and_then(run, "aggregator", 6, 100 + seed, (0.1, 0.4))
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertGreaterEqual(killed, 4)
                job = run.result()["jobs"][0]
                self.assertEqual(job["metrics"]["pushes"], clocks * workers)
                if policy["policy"] != "async":
                    self.assertLessEqual(job["staleness_max"], policy.get("staleness", 0))
                self.assert_nothing_left(run)

    def test_together_with_any_other(self):
        """An aggregator at the same moment as a worker of its own, the coordinator, and a primary."""
        job = {"workers": 4, "aggregators": TREE, "mode": ["workload", 700, 4000, "exchange"],
               "optimizer": {"name": "adam", "learning_rate": 0.05}}
        expected = self.expected(job, 700, "exchange")
        run = self.launch(self.yaml(job, replicas=1))
        wait_until(lambda: self.count_events(run, "replica_in_sync") >= 2 or run.process.poll() is not None, 20,
                   "replicas have all")
        for kill, other in enumerate(("worker-0", "coordinator-0", "shard-0", "aggregator-1")):
            ready, synced = (self.count_events(run, what) for what in ("aggregator_set_up", "replica_in_sync"))
            self.kill(run, other)
            self.kill(run, f"aggregator-{kill % 2 if kill < 3 else 0}")
            wait_until(lambda: self.count_events(run, "aggregator_set_up") > ready
                       and (other != "shard-0" or self.count_events(run, "replica_in_sync") > synced)
                       or run.process.poll() is not None, 20, "another has taken its place")
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertEqual(self.count_events(run, "going_back"), 0)
        self.assert_nothing_left(run)


main()
