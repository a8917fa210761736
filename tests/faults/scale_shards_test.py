"""`tidegate scale RUN_DIR shards=N`: shards move between processes while a job runs. No push is lost or counted twice, the
bits are those of a run in which nothing moved, nobody waits for long, and what dies beside that is replaced."""

import account
from faults import *

OFTEN = {role: {"max_restarts": 1000, "backoff": "1ms"} for role in ("worker", "shard", "coordinator")}


class ScaleShards(FaultTest):
    def yaml(self, job, **rest):
        text = json.loads(cluster_yaml({"job": job}, **{"max_shards": 4, **rest}))
        return json.dumps({**text, "supervision": OFTEN})

    def scale(self, run, *words, code=0):
        done = subprocess.run([str(BIN / "tidegate"), "scale", str(run.run_dir), *words],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr + run.output)
        return done.stderr

    def await_moves(self, run, count):
        """So many have moved since the run began."""
        wait_until(lambda: self.count_events(run, "shard_moved") >= count, 30, f"{count} have moved; {run.run_dir}")
        self.assertEqual(self.count_events(run, "shard_moves"), count)

    def promotions(self, run, slot):
        """How often its processes have become the primary of a shard; a coordinator that is killed takes events along."""
        logs = [run.run_dir / "logs" / f"{name}-{slot}.log" for name in ("shard", "replica")]
        return sum(log.read_text().count("is the primary") for log in logs if log.exists())

    def await_gone(self, run, *names):
        def there():
            return [f'{p["role"]}-{p["index"]}' for p in run.processes() if alive(p["pid"])]
        wait_until(lambda: not set(names) & set(there()), 10, f"{names} have ended; there are {there()}")

    def test_same_bits_as_if_nothing_had_moved(self):
        ways = (("momentum", "auto", "exchange", 0), ("adam", "tcp", "spans", 1))
        for optimizer, transport, way, replicas in ways:
            with self.subTest(optimizer=optimizer, transport=transport, way=way, replicas=replicas):
                job = {"workers": 3, "mode": ["workload", 2000, 1500, way],
                       "optimizer": {"name": optimizer, "learning_rate": 0.05}}
                calm = cluster_yaml({"job": {**job, "mode": ["workload", 2000, 0, way]}}, transport=transport)
                expected = self.hash_of(self.run_to_end(calm))
                if not replicas:  # parts of checkpoints are on their way to the disk when their shard leaves
                    job["checkpoint"] = {"every": "10 clocks", "keep": 1}
                run = self.launch(self.yaml(job, transport=transport, replicas=replicas))
                self.wait_for_a_clock(run)
                self.scale(run, "shards=4")
                self.await_moves(run, 2)
                self.scale(run, "shards=1")
                self.await_moves(run, 5)
                self.await_gone(run, "shard-1", "shard-2", "shard-3")
                self.scale(run, "shards=3")
                self.await_moves(run, 7)
                self.assertEqual(run.process.poll(), None, "the job goes on beside all this")
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                started = run.events_text()
                for other in ("worker-job-0", "worker-job-1", "worker-job-2", "coordinator-0", "shard-0"):
                    self.assertEqual(started.count(f"{other} pid"), 1, "nobody else starts again")
                self.assertEqual(started.count("shard-1 pid"), 2)
                self.assertNotIn("process_died", started)
                self.assert_nothing_left(run)

    def test_what_was_pushed_counts_once_whoever_dies(self):
        clocks = 2500
        for policy in ({"policy": "ssp", "staleness": 2}, {"policy": "async"}):
            with self.subTest(policy=policy):
                run = self.launch(self.yaml({"workers": 2, "max_workers": 4, "consistency": policy, "reduce": "sum",
                                             "optimizer": {"name": "sgd", "learning_rate": 1.0},
                                             "mode": ["count", clocks, 3000, "fewer"]}, replicas=1))
                self.wait_for_a_clock(run)
                self.scale(run, "workers=4", "shards=4")
                self.kill(run, "shard-0")
                wait_until(lambda: self.promotions(run, 2) and self.promotions(run, 3), 30, f"they have moved; {run.run_dir}")
                self.scale(run, "shards=1")
                self.kill(run, "coordinator-0")
                self.kill(run, "worker-1")
                self.await_gone(run, "shard-1", "shard-2", "shard-3")
                before = self.promotions(run, 2)
                self.scale(run, "shards=3")
                self.kill(run, "replica-0")
                wait_until(lambda: self.promotions(run, 2) > before, 30, f"one moves; {run.run_dir}")
                self.assertEqual(run.wait(90), 0, run.output)
                job = run.result()["jobs"][0]
                self.assertEqual(job["metrics"]["pushes"], account.pushes_of(job["changes"], 2, clocks))
                if policy["policy"] == "ssp":
                    self.assertLessEqual(job["staleness_max"], 2)
                self.assert_nothing_left(run)

    def test_what_cannot_be_is_said(self):
        run = self.launch(self.yaml({"workers": 1, "mode": ["count", 300, 8000]}))
        self.wait_for_a_clock(run)
        self.assertIn("cluster.max_shards", self.scale(run, "shards=5", code=1))
        self.assertEqual(run.wait(60), 0, run.output)
        run = self.launch(cluster_yaml({"job": {"workers": 1, "mode": ["count", 300, 8000]}}))
        self.wait_for_a_clock(run)
        self.assertIn("cluster.max_shards", self.scale(run, "shards=3", code=1))
        self.assertEqual(run.wait(60), 0, run.output)
        self.assert_nothing_left(run)


main()
