"""A job whose workers pull and push rows, for tests in which processes are killed."""

from faults import *

OFTEN = {role: {"max_restarts": 1000, "backoff": "1ms"} for role in ("worker", "shard", "coordinator")}
KILLED = ("worker-0", "shard-0", "worker-1", "shard-1", "worker-2", "replica-0")


class RowsTest(FaultTest):
    def yaml(self, pause, clocks=200, job={}, table={}, **cluster):
        spec = json.loads(cluster_yaml({"job": {
            "workers": 3, "mode": ["workload", clocks, pause, "rows"],
            "tables": {"rows": {"rows": "dynamic", "dim": 8, **({} if "evict" in table else {"capacity": 10000}),
                                **table}},
            "optimizer": {"name": "adam", "learning_rate": 0.05}, **job}}, **cluster))
        return json.dumps({**spec, "supervision": OFTEN})
