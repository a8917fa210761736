"""Promises 2, 3 and 4 for shards with a replica: whichever process of a shard is killed, and whenever, the other
one goes on, nobody else starts again, and the result is that of a run in which nothing happened."""

from faults import *

# All that is killed is dead at a third to a half of them, on a machine that is busy.
CLOCKS = 900
OFTEN = {role: {"max_restarts": 1000, "backoff": "1ms"} for role in ("worker", "shard", "coordinator")}


class Replicas(FaultTest):
    def yaml(self, job, replicas=1, **rest):
        text = json.loads(cluster_yaml({"job": job}, **rest))
        text["cluster"]["replicas"] = replicas
        return json.dumps({**text, "supervision": OFTEN})

    def in_sync(self, run, times, seconds=20):
        """A new replica has had everything, so many times since the run began."""
        wait_until(lambda: self.count_events(run, "replica_in_sync") >= times or run.process.poll() is not None,
                   seconds, f"{times} times in sync; {run.run_dir}")

    def test_same_bits_as_if_nothing_had_happened(self):
        ways = (("momentum", "auto", "exchange"), ("adam", "auto", "spans"), ("adam", "tcp", "in_place"))
        for seed, (optimizer, transport, way) in enumerate(ways):
            with self.subTest(optimizer=optimizer, transport=transport, way=way):
                job = {"workers": 3, "mode": ["workload", CLOCKS, 4000, way],
                       "optimizer": {"name": optimizer, "learning_rate": 0.05}}
                calm = json.loads(self.yaml({**job, "mode": ["workload", CLOCKS, 0, way]}, transport=transport))
                calm["cluster"]["replicas"] = 0
                expected = self.hash_of(self.run_to_end(json.dumps(calm)))
                run = self.launch(self.yaml(job, transport=transport))
                self.in_sync(run, 2)
                for kill in range(6):
                    victim = ("shard-0", "replica-0", "shard-1", "replica-1")[(seed + kill) % 4]
                    self.kill(run, victim)
                    self.in_sync(run, 3 + kill)
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                logs = "".join(log.read_text() for log in (run.run_dir / "logs").glob("replica-*.log"))
                self.assertEqual("reads the primary's sums in place" in logs, transport == "auto")
                started = run.events_text()
                for other in ("worker-job-0", "worker-job-1", "worker-job-2", "coordinator-0"):
                    self.assertEqual(started.count(f"{other} pid"), 1, "nobody else starts again")
                self.assert_nothing_left(run)

    def test_two_of_three_at_once(self):
        """The processes of shard 0 are shard-0, replica-0 and replica-2; whoever died comes back as the last of them."""
        pairs = (("shard-0", "replica-0"), ("replica-2", "shard-0"), ("replica-0", "replica-2"), ("shard-0", "replica-3"),
                 ("shard-1", "replica-1"))
        job = {"workers": 3, "optimizer": {"name": "adam", "learning_rate": 0.05}}
        for seed, (transport, way) in enumerate((("auto", "exchange"), ("ucx", "spans"))):
            with self.subTest(transport=transport, way=way):
                expected = self.hash_of(self.run_to_end(self.yaml({**job, "mode": ["workload", CLOCKS, 0, way]}, 0,
                                                                  transport=transport)))
                run = self.launch(self.yaml({**job, "mode": ["workload", CLOCKS, 4000, way]}, 2, transport=transport))
                self.in_sync(run, 4)
                for kill in range(len(pairs)):
                    for victim in pairs[(seed + kill) % len(pairs)]:
                        self.kill(run, victim)
                    self.in_sync(run, 4 + 2 * (kill + 1))
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                started = run.events_text()
                for other in ("worker-job-0", "worker-job-1", "worker-job-2", "coordinator-0"):
                    self.assertEqual(started.count(f"{other} pid"), 1, "nobody else starts again")
                self.assert_nothing_left(run)

    def test_two_of_three_and_no_push_is_lost_or_applied_twice(self):
        for policy in ({"policy": "ssp", "staleness": 2}, {"policy": "async"}):
            with self.subTest(policy=policy):
                clocks, workers = CLOCKS, 3
                run = self.launch(self.yaml({"workers": workers, "mode": ["count", clocks, 6000], "reduce": "sum",
                                             "consistency": policy}, 2))
                self.in_sync(run, 4)
                for kill, pair in enumerate((("shard-0", "replica-0"), ("replica-2", "shard-0"), ("replica-1", "shard-1"))):
                    for victim in pair:
                        self.kill(run, victim)
                    self.in_sync(run, 4 + 2 * (kill + 1))
                self.assertEqual(run.wait(60), 0, run.output)
                job = run.result()["jobs"][0]
                self.assertEqual(job["metrics"]["pushes"], clocks * workers)
                if policy["policy"] != "async":
                    self.assertLessEqual(job["staleness_max"], policy.get("staleness", 0))
                self.assert_nothing_left(run)

    def test_no_push_is_lost_or_applied_twice(self):
        for policy in ({"policy": "ssp", "staleness": 2}, {"policy": "async"}, {"policy": "bsp"}):
            with self.subTest(policy=policy):
                clocks, workers = CLOCKS, 3
                run = self.launch(self.yaml({"workers": workers, "mode": ["count", clocks, 6000], "reduce": "sum",
                                             "consistency": policy}))
                self.in_sync(run, 2)
                for kill, victim in enumerate(("shard-0", "shard-1", "replica-0", "replica-1")):
                    self.kill(run, victim)
                    self.in_sync(run, 3 + kill)
                self.assertEqual(run.wait(60), 0, run.output)
                job = run.result()["jobs"][0]
                self.assertEqual(job["metrics"]["pushes"], clocks * workers)
                if policy["policy"] != "async":
                    self.assertLessEqual(job["staleness_max"], policy.get("staleness", 0))
                self.assert_nothing_left(run)

    def test_behind_aggregators_and_together_with_a_worker(self):
        job = {"workers": 4, "aggregators": {"fan_in": 2}, "mode": ["workload", CLOCKS // 2, 4000, "exchange"],
               "optimizer": {"name": "adam", "learning_rate": 0.05}}
        calm = json.loads(self.yaml({**job, "mode": ["workload", CLOCKS // 2, 0, "exchange"]}))
        calm["cluster"]["replicas"] = 0
        expected = self.hash_of(self.run_to_end(json.dumps(calm)))
        for aggregators in ({"fan_in": 2}, "none"):
            with self.subTest(aggregators=aggregators):
                run = self.launch(self.yaml({**job, "aggregators": aggregators}))
                self.in_sync(run, 2)
                for kill, victim in enumerate(("shard-0", "shard-1", "replica-0")):
                    self.kill(run, victim)
                    self.kill(run, f"worker-{kill}")
                    self.in_sync(run, 3 + kill)
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                self.assert_nothing_left(run)

    def test_together_with_the_coordinator(self):
        """Without a checkpoint: who leads whom is in the coordinator's journal. Over TCP: a shard that dies while it writes
        to shared memory may block a queue (docs/decisions/0010-dead-peers.md), and an aggregator does not come back."""
        for aggregators in ("none", {"fan_in": 2}):
            with self.subTest(aggregators=aggregators):
                job = {"workers": 4, "mode": ["workload", CLOCKS // 2, 4000, "exchange"], "aggregators": aggregators,
                       "optimizer": {"name": "momentum", "learning_rate": 0.05}}
                expected = self.hash_of(self.run_to_end(self.yaml({**job, "mode": ["workload", CLOCKS // 2, 0, "exchange"]})))
                run = self.launch(self.yaml(job, transport="tcp"))
                self.in_sync(run, 2)
                for kill, victim in enumerate(("shard-0", "replica-1", "replica-0", None, "shard-0")):
                    before = self.count_events(run, "replica_in_sync")
                    self.kill(run, "coordinator-0")
                    if victim:
                        self.kill(run, victim)
                        self.in_sync(run, before + 1)
                    wait_until(lambda: self.count_events(run, "coordinator_resumes") > kill, 20, "it is back")
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                self.assertEqual(self.count_events(run, "going_back"), 0)
                for rank in range(4):
                    self.assertEqual(run.events_text().count(f"worker-job-{rank} pid"), 1, "nobody else starts again")
                self.assert_nothing_left(run)

    def test_both_at_once_is_told(self):
        run = self.launch(self.yaml({"workers": 2, "mode": ["forever"]}))
        self.in_sync(run, 2)
        self.kill(run, "shard-0")
        self.kill(run, "replica-0")
        self.assertEqual(run.wait(30), 3, run.output)
        self.assertIn("no replica that has everything", run.output)
        self.assert_nothing_left(run)

    def test_both_at_once_goes_back_where_there_are_checkpoints(self):
        job = {"workers": 2, "mode": ["workload", 600, 3000, "exchange"], "checkpoint": {"every": "20 clocks"},
               "optimizer": {"name": "momentum", "learning_rate": 0.05}}
        calm = {**job, "mode": ["workload", 600, 0, "exchange"]}
        del calm["checkpoint"]
        expected = self.hash_of(self.run_to_end(self.yaml(calm)))
        run = self.launch(self.yaml(job))
        wait_until(lambda: self.count_events(run, "checkpoint") > 0, 20, "a checkpoint")
        self.kill(run, "shard-1")
        self.kill(run, "replica-1")
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.count_events(run, "going_back"), 1)
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)


main()
