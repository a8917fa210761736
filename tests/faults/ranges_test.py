"""Ranges of tables: the same bits however the model is spread and whoever dies, with chunks that are pushed whole, in part,
and not at all in one clock."""

from faults import *

OFTEN = {role: {"max_restarts": 1000, "backoff": "1ms"} for role in ("worker", "shard", "aggregator", "coordinator")}


class Ranges(FaultTest):
    def yaml(self, pause, way="ranges", job={}, **cluster):
        spec = json.loads(cluster_yaml({"job": {
            "workers": 3, "mode": ["workload", 400, pause, way],
            "optimizer": {"name": "adam", "learning_rate": 0.05, "lazy": True}, **job}}, **{"chunk_bytes": 512, **cluster}))
        return json.dumps({**spec, "supervision": OFTEN})

    def test_same_bits_on_any_number_of_shards_and_any_transport(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0, shards=1)))
        for way, job, cluster in (("packed_ranges", {}, {"shards": 3}),
                                  ("ranges", {}, {"shards": 2, "transport": "tcp", "chunk_bytes": 4096}),
                                  ("packed_ranges", {}, {"shards": 2, "transport": "tcp", "replicas": 1}),
                                  ("ranges", {}, {"shards": {"count": 2, "device": "emulated:3"}, "chunk_bytes": 65536}),
                                  ("ranges", {"aggregators": {"fan_in": 2}}, {"shards": 2, "replicas": 1})):
            with self.subTest(way=way, **job, **cluster):
                self.assertEqual(self.hash_of(self.run_to_end(self.yaml(0, way=way, job=job, **cluster))), expected)

    def test_same_bits_whoever_is_killed(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0)))
        for seed, (transport, way) in enumerate((("auto", "ranges"), ("tcp", "packed_ranges"))):
            with self.subTest(transport=transport, way=way):
                order = ("worker-0", "shard-0", "worker-1", "shard-1", "worker-2", "replica-0")
                self.assert_same_after_kills(self.yaml(6000, way=way, replicas=1, transport=transport), expected,
                                             [order[kill % 6] for kill in range(7)], seed, 0.02)

    def test_a_table_that_is_not_lazy_is_named(self):
        run = self.run_to_end(self.yaml(0, job={"optimizer": {"name": "sgd"}}), expect=1)
        self.assertIn("optimizer.lazy: true", run.output)


main()
