"""Shards on devices: the same bits as on the host, whoever is killed, and an error at once where there is no device."""

from faults import *

OFTEN = {role: {"max_restarts": 1000, "backoff": "1ms"} for role in ("worker", "shard", "aggregator", "coordinator")}
DEVICE = os.environ.get("TIDEGATE_TEST_GPU", "emulated:3")
PAUSE = 60000 if DEVICE.startswith("cuda:") else 12000  # us of a clock: a process takes longer to begin on a GPU


class Devices(FaultTest):
    def yaml(self, pause, shards, way="exchange", job={}, clocks=300, **cluster):
        spec = json.loads(cluster_yaml({"job": {
            "workers": 3, "mode": ["workload", clocks, pause, way], "optimizer": {"name": "adam", "learning_rate": 0.01},
            **job}}, **cluster))
        spec["cluster"]["shards"] = shards
        return json.dumps({**spec, "supervision": OFTEN})

    def on_device(self, count):
        return {"count": count, "device": DEVICE}

    def test_same_bits_as_on_the_host_in_every_way(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0, 1)))
        for way, count, cluster in (("exchange", 2, {}), ("spans", 1, {"transport": "tcp"}), ("in_place", 2, {"replicas": 1}),
                                    ("exchange", 1, {"transport": "tcp", "replicas": 1})):
            with self.subTest(way=way, **cluster):
                run = self.run_to_end(self.yaml(0, self.on_device(count), way=way, **cluster))
                self.assertEqual(self.hash_of(run), expected)

    def test_same_bits_with_a_cache_that_is_too_small_for_all(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0, 1, clocks=60, chunk_bytes=1024)))
        shards = {**self.on_device(1), "device_memory": "16KiB"}
        for cluster in ({}, {"replicas": 1, "transport": "tcp"}):
            with self.subTest(**cluster):
                self.assertEqual(self.hash_of(self.run_to_end(self.yaml(0, shards, clocks=60, chunk_bytes=1024, **cluster))), expected)

    def test_same_bits_with_aggregators_and_clipping(self):
        job = {"gradients": {"clip_norm": 5.0}, "aggregators": {"fan_in": 2}}
        expected = self.hash_of(self.run_to_end(self.yaml(0, 2, job=job)))
        self.assertEqual(self.hash_of(self.run_to_end(self.yaml(0, self.on_device(2), job=job))), expected)

    def test_same_bits_whoever_is_killed(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0, 1)))
        for seed, transport in enumerate(("auto", "tcp")):
            with self.subTest(transport=transport):
                self.assert_same_after_kills(
                    self.yaml(PAUSE, self.on_device(2), replicas=1, transport=transport), expected,
                    ("worker-0", "shard-0", "worker-1", "shard-1", "replica-1", "shard-0"), seed, 0.05, seconds=90)

    def test_goes_back_to_a_checkpoint(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0, 1)))
        run = self.launch(self.yaml(PAUSE, self.on_device(2), job={"checkpoint": {"every": "40 clocks"}}))
        wait_until(lambda: self.count_events(run, "checkpoint") >= 1, 30, f"a checkpoint; {run.output}")
        self.kill(run, "shard-1")
        self.assertEqual(run.wait(90), 0, run.output)
        self.assertGreaterEqual(self.count_events(run, "going_back"), 1)
        self.assertEqual(self.hash_of(run), expected)

    def test_a_gpu_that_is_not_there_is_told_before_anything_starts(self):
        run = self.launch(self.yaml(0, 1), "--device", "cuda:1023")
        self.assertEqual(run.wait(30), 2, run.output)
        self.assertIn("cuda:1023", run.output)
        self.assertFalse(run.run_dir.exists())


main()
