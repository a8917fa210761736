"""What a round of scripts/soak is: a job, a cluster and a series of kills, all drawn from a seed. Pure: the same seed
and number give the same round, on any machine."""

import dataclasses
import json
import random

# Roles that a cluster survives today. The others are refused until it does (docs/fault_tolerance.md).
SURVIVES = {"worker": True, "aggregator": False, "shard": False, "coordinator": True}

# A limit on restarts is what tests/faults/workers_test.py looks at; here nothing is too often.
SUPERVISION = {role: {"max_restarts": 1000000, "backoff": "1ms"} for role in ("worker", "coordinator")}

OPTIMIZERS = ("momentum", "adam")
WAYS = ("exchange", "in_place", "spans")
CLOCKS = (150, 250, 350)
PAUSE_US = 8000  # at most, of a worker in a clock
POLICIES = ({"policy": "bsp"}, {"policy": "ssp", "staleness": 1}, {"policy": "ssp", "staleness": 4},
            {"policy": "async"})


@dataclasses.dataclass(frozen=True)
class Round:
    number: int
    kind: str  # workload: its bits are compared; count: its sums are
    job: dict
    cluster: dict
    clocks: int
    chaos: tuple  # arguments of tidegate chaos RUN_DIR random

    def yaml(self, worker):
        return cluster_text(self.job, self.cluster, worker)

    def calm(self, worker):
        """The same job with nothing in its way: one shard, shared memory, no aggregators, no pauses, no kills. By
        promise it has the same bits."""
        job = {key: value for key, value in self.job.items() if key != "aggregators"}
        job["mode"] = ["workload", self.clocks, 0, "in_place"]
        return cluster_text(job, {"shards": 1, "transport": "auto"}, worker)

    @property
    def calm_key(self):
        """Rounds of equal keys have equal bits."""
        return json.dumps([self.job["optimizer"], self.job["workers"], self.job["seed"], self.clocks])

    @property
    def staleness(self):
        """The most that the policy allows; None: any."""
        policy = self.job["consistency"]
        return None if policy["policy"] == "async" else policy.get("staleness", 0)

    def __str__(self):
        job = self.job
        policy = job["consistency"]
        words = [policy["policy"] + (f"({policy['staleness']})" if "staleness" in policy else ""),
                 f"{job['workers']} workers", f"{self.cluster['shards']} shards", self.cluster["transport"],
                 " ".join(str(word) for word in job["mode"])]
        if self.kind == "workload":
            words.append(job["optimizer"]["name"])
        if "aggregators" in job:
            words.append(f"aggregators {json.dumps(job['aggregators'])}")
        return ", ".join(words) + "; " + " ".join(self.chaos)


def cluster_text(job, cluster, worker):
    job = dict(job)
    command = [str(worker), *(str(word) for word in job.pop("mode"))]
    return json.dumps({"cluster": {"name": "soak", **cluster}, "supervision": SUPERVISION,
                       "jobs": {"job": {"command": command, **job}}}, indent=1)  # JSON is YAML


def chaos_arguments(seed, roles, count, actions="kill", every="20ms..250ms"):
    return ("--seed", str(seed), "--every", every, "--roles", ",".join(roles), "--count", str(count),
            "--actions", actions)


def draw_workload(chance, clocks, workers):
    return {"workers": workers, "mode": ["workload", clocks, PAUSE_US, chance.choice(WAYS)],
            "consistency": {"policy": "bsp"}, "seed": chance.choice((1, 2)),
            "optimizer": {"name": chance.choice(OPTIMIZERS), "learning_rate": 0.05}}


def draw_count(chance, clocks, workers):
    return {"workers": workers, "mode": ["count", clocks, PAUSE_US], "reduce": "sum",
            "consistency": chance.choice(POLICIES)}


def draw(seed, number, roles):
    chance = random.Random(f"{seed}/{number}")
    kind = chance.choice(("workload", "workload", "count"))
    clocks = chance.choice(CLOCKS)
    workers = chance.choice((2, 3, 4))
    job = (draw_workload if kind == "workload" else draw_count)(chance, clocks, workers)
    aggregators = chance.choice((None, None, {"fan_in": 2}, "per_host"))
    if aggregators:
        job["aggregators"] = aggregators
    cluster = {"shards": chance.choice((1, 2, 3)), "transport": chance.choice(("auto", "auto", "tcp"))}
    chaos = chaos_arguments(chance.randrange(1 << 32), roles, chance.randrange(6, 16),
                            chance.choice(("kill", "kill", "kill,stop:50ms")))
    return Round(number, kind, job, cluster, clocks, chaos)


def refuse_roles(roles):
    """Why these roles are not to be killed; None when a cluster survives them all."""
    for role in roles:
        if role not in SURVIVES:
            return f"unknown role '{role}'; allowed: {', '.join(r for r, lives in SURVIVES.items() if lives)}"
        if not SURVIVES[role]:
            return (f"a cluster does not survive the death of its {role} yet: it ends the run, so there is nothing to "
                    f"soak; allowed: {', '.join(r for r, lives in SURVIVES.items() if lives)}")
    return None if roles else "no role is given"
