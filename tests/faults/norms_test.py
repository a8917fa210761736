"""Clipping by the norm of the whole gradient: the same bits however the model is spread, and whoever dies between the
measuring of a clock and its step."""

from faults import *

OFTEN = {role: {"max_restarts": 1000, "backoff": "1ms"} for role in ("worker", "shard", "aggregator", "coordinator")}


class Norms(FaultTest):
    def yaml(self, pause, clip_norm=5.0, way="exchange", **cluster):
        spec = json.loads(cluster_yaml({"job": {
            "workers": 3, "mode": ["workload", 600, pause, way], "optimizer": {"name": "momentum", "learning_rate": 0.05},
            "gradients": {"clip_norm": clip_norm}}}, **cluster))
        return json.dumps({**spec, "supervision": OFTEN})

    def test_same_bits_on_any_number_of_shards_and_any_transport(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0, shards=1)))
        for way, cluster in (("exchange", {"shards": 3}), ("spans", {"shards": 2, "transport": "tcp"}),
                             ("in_place", {"shards": 2, "replicas": 1})):
            with self.subTest(way=way, **cluster):
                self.assertEqual(self.hash_of(self.run_to_end(self.yaml(0, way=way, **cluster))), expected)
        for aggregators in ("per_host", {"fan_in": 2}):
            with self.subTest(aggregators=aggregators):
                yaml = json.loads(self.yaml(0, shards=2))
                yaml["jobs"]["job"]["aggregators"] = aggregators
                self.assertEqual(self.hash_of(self.run_to_end(json.dumps(yaml))), expected)
        self.assertNotEqual(self.hash_of(self.run_to_end(self.yaml(0, clip_norm=0))), expected, "it is clipped")

    def test_same_bits_when_aggregators_are_killed(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0)))
        yaml = json.loads(self.yaml(6000, transport="tcp"))
        yaml["jobs"]["job"]["aggregators"] = {"fan_in": 2}
        run = self.launch(json.dumps(yaml))
        killed = self.kill_now_and_then(run, "aggregator", 5, 7, (0.1, 0.4))
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertGreaterEqual(killed, 3)
        self.assertEqual(self.count_events(run, "going_back"), 0)
        self.assert_nothing_left(run)

    def test_same_bits_whoever_is_killed(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0)))
        for seed, transport in enumerate(("auto", "tcp")):
            with self.subTest(transport=transport):
                order = ("worker-0", "shard-0", "worker-1", "shard-1", "worker-2", "replica-0")
                self.assert_same_after_kills(self.yaml(6000, replicas=1, transport=transport), expected,
                                             [order[kill % 6] for kill in range(9)], seed, 0.02)


main()
