"""Workers whose tables are on a device: the bits of the host, wherever shards step and whoever is killed."""

from faults import *

OFTEN = {role: {"max_restarts": 1000, "backoff": "1ms"} for role in ("worker", "shard", "aggregator", "coordinator")}
DEVICE = os.environ.get("TIDEGATE_TEST_GPU", "emulated:3")
PAUSE = 60000 if DEVICE.startswith("cuda:") else 12000  # us of a clock: a process takes longer to begin on a GPU
OTHER = "emulated:4"


class DeviceWorkers(FaultTest):
    def yaml(self, shards, way="exchange", pause=0, clocks=200, worker=(DEVICE,), job={}, **cluster):
        spec = json.loads(cluster_yaml({"job": {
            "workers": 3, "mode": ["workload", clocks, pause, way, *worker],
            "optimizer": {"name": "adam", "learning_rate": 0.01}, **job}}, **cluster))
        spec["cluster"]["shards"] = shards
        return json.dumps({**spec, "supervision": OFTEN})

    @staticmethod
    def on_device(count, **more):
        return {"count": count, "device": DEVICE, **more}

    def expected(self, **options):
        return self.hash_of(self.run_to_end(self.yaml(1, worker=(), **options)))

    def log_of(self, run, process):
        return (run.run_dir / "logs" / f"{process}.log").read_text()

    def test_same_bits_wherever_shards_step(self):
        expected = self.expected()
        for shards, way, worker, cluster in (
                (self.on_device(1), "exchange", (DEVICE,), {}),
                (self.on_device(2), "in_place", (DEVICE,), {"chunk_bytes": 4096}),
                (2, "exchange", (DEVICE,), {}),
                (self.on_device(2), "exchange", (OTHER,), {}),
                (self.on_device(1), "in_place", (DEVICE,), {"transport": "tcp"}),
                (self.on_device(2), "spans", (DEVICE,), {}),
                (self.on_device(1), "exchange", (DEVICE, 1), {}),
                (self.on_device(2), "exchange", (DEVICE,), {"replicas": 1}),
                (self.on_device(1, device_memory="1MiB"), "in_place", (DEVICE,), {"chunk_bytes": 65536})):
            with self.subTest(shards=shards, way=way, worker=worker, **cluster):
                self.assertEqual(self.hash_of(self.run_to_end(self.yaml(shards, way, worker=worker, **cluster))), expected)

    def test_same_bits_with_aggregators_and_clipping(self):
        job = {"gradients": {"clip_norm": 5.0}, "aggregators": {"fan_in": 2}}
        expected = self.expected(job=job)
        self.assertEqual(self.hash_of(self.run_to_end(self.yaml(self.on_device(2), job=job))), expected)

    def test_another_device_is_told_and_the_host_is_used(self):
        run = self.run_to_end(self.yaml(self.on_device(1), worker=(OTHER,)))
        self.assertIn("come by way of the host", self.log_of(run, "shard-0"))
        run = self.run_to_end(self.yaml(self.on_device(1)))
        self.assertNotIn("by way of the host", self.log_of(run, "shard-0") + self.log_of(run, "worker-job-0"))

    def test_same_bits_whoever_is_killed(self):
        expected = self.expected()
        for seed, (way, shards) in enumerate((("exchange", self.on_device(2)), ("in_place", self.on_device(2)), ("exchange", 2))):
            with self.subTest(way=way, shards=shards):
                run = self.launch(self.yaml(shards, way, pause=PAUSE, replicas=1))
                order = ("worker-0", "shard-0", "worker-1", "shard-1", "replica-1", "shard-0")
                self.kill_each(run, order, seed, 0.05)
                self.assertEqual(run.wait(90), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                self.assert_nothing_left(run)

    def test_a_killed_worker_leaves_gradients_that_count(self):
        expected = self.expected()
        run = self.launch(self.yaml(self.on_device(1), pause=PAUSE))
        self.assertGreaterEqual(self.kill_now_and_then(run, "worker", 5, 3), 3)
        self.assertEqual(run.wait(90), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)

    def test_goes_back_to_a_checkpoint(self):
        expected = self.expected()
        run = self.launch(self.yaml(self.on_device(2), pause=PAUSE, job={"checkpoint": {"every": "40 clocks"}}))
        wait_until(lambda: self.count_events(run, "checkpoint") >= 1, 30, f"a checkpoint; {run.output}")
        self.kill(run, "shard-1")
        self.assertEqual(run.wait(90), 0, run.output)
        self.assertGreaterEqual(self.count_events(run, "going_back"), 1)
        self.assertEqual(self.hash_of(run), expected)

    def test_a_device_that_is_not_there_is_told(self):
        run = self.launch(self.yaml(1, worker=("cuda:1023",)))
        self.assertNotEqual(run.wait(90), 0, run.output)
        self.assertIn("cuda:1023", run.output)


main()
