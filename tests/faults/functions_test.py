"""Functions of tables: what shards compute is of the version that was pulled, however the model is spread and whoever dies.
A worker compares each result with its own, and fails the job where they differ."""

from faults import *

OFTEN = {role: {"max_restarts": 1000, "backoff": "1ms"} for role in ("worker", "shard", "aggregator", "coordinator")}


class Functions(FaultTest):
    def yaml(self, pause, way="functions", clocks=200, job={}, **cluster):
        tables = {"rows": {"rows": "dynamic", "dim": 8, "evict": {"unseen": "30 clocks", "rows": 1600}}}
        job = {**({"tables": tables} if way.endswith("rows") else {}), **job}
        spec = json.loads(cluster_yaml({"job": {
            "workers": 3, "mode": ["workload", clocks, pause, way],
            "optimizer": {"name": "adam", "learning_rate": 0.05}, **job}}, **{"chunk_bytes": 512, **cluster}))
        return json.dumps({**spec, "supervision": OFTEN})

    def test_results_are_right_on_any_shards_and_change_no_bits(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0, way="in_place", clocks=100)))
        for job, cluster in (({}, {"shards": 3}),
                             ({}, {"shards": 2, "transport": "tcp", "replicas": 1}),
                             ({}, {"shards": {"count": 2, "device": "emulated:3"}}),
                             ({"aggregators": {"fan_in": 2}}, {"shards": 2})):
            with self.subTest(**job, **cluster):
                self.assertEqual(self.hash_of(self.run_to_end(self.yaml(0, clocks=100, job=job, **cluster))), expected)

    def test_results_of_rows_are_right_whoever_is_killed(self):
        # Rows come and go meanwhile.
        expected = self.hash_of(self.run_to_end(self.yaml(0, way="rows", clocks=100)))
        on_device = {"shards": {"count": 2, "device": "emulated:3"}}
        for seed, cluster in enumerate(({}, {"transport": "tcp"}, on_device)):
            with self.subTest(**cluster):
                self.assert_same_after_kills(
                    self.yaml(16000, way="called_rows", clocks=100, replicas=1, **cluster), expected,
                    ("worker-0", "shard-0", "worker-1", "shard-1", "worker-2", "replica-0"), seed, 0.02)

    def test_results_are_right_whoever_is_killed(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0)))
        for seed, transport in enumerate(("auto", "tcp")):
            with self.subTest(transport=transport):
                self.assert_same_after_kills(
                    self.yaml(16000, replicas=1, transport=transport), expected,
                    ("worker-0", "shard-0", "worker-1", "shard-1", "worker-2", "replica-0"), seed, 0.02)


main()
