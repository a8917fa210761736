"""What a round of scripts/soak is: a job, a cluster and a series of kills, all drawn from a seed. Pure: the same seed
and number give the same round, on any machine."""

import dataclasses
import json
import random

# Who may be killed (docs/fault_tolerance.md): any job survives the death of a worker, an aggregator and the coordinator, and
# one with checkpoints that of the others, by going back; of the launcher because another one goes on with the run.
ALWAYS = ("worker", "coordinator", "aggregator")
WITH_CHECKPOINTS = ("shard", "replica", "launcher")
# Of a shard with replicas any goes on alone; checkpoints are for all at once.
GROUP = ("shard", "replica")
ROLES = ALWAYS + WITH_CHECKPOINTS
# A round is about one of these; `kill` is drawn below, the others in rough_rounds.py.
FAULTS = ("kill", "cut", "partition", "stall", "hang", "silent_host")

# A limit on restarts is what tests/faults/workers_test.py looks at; here nothing is too often.
SUPERVISION = {role: {"max_restarts": 1000000, "backoff": "1ms"} for role in ROLES if role not in ("launcher", "replica")}

CHECKPOINT = {"every": "20 clocks", "keep": 2}

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
    chaos: tuple  # arguments of tidegate chaos RUN_DIR random; empty: it is not run
    launcher: tuple  # seconds that each life of the launcher lasts before it is killed
    resizes: tuple = ()  # (seconds since the launch, "workers=3" or "shards=2" from then on)
    fault: str = "kill"  # of FAULTS
    moves: tuple = ()  # of rough_rounds.Move, one after another
    supervision: tuple = ()  # (key, value) beside SUPERVISION

    def yaml(self, worker, hosts=None):
        cluster = {**self.cluster, "hosts": hosts} if hosts else self.cluster
        return cluster_text(self.job, cluster, worker, dict(self.supervision))

    def calm(self, worker):
        """The same job with nothing in its way: one shard, shared memory, no aggregators, no pauses, no kills. By
        promise it has the same bits."""
        job = {key: value for key, value in self.job.items() if key not in ("aggregators", "checkpoint")}
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

    @property
    def shards(self):
        """None: they move, and who serves which is not told by names."""
        return None if "max_shards" in self.cluster else self.cluster["shards"]

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
        if "replicas" in self.cluster:
            words.append(f"replicas {self.cluster['replicas']}")
        if "checkpoint" in job:
            words.append("checkpoints")
        if self.launcher:
            words.append(f"launcher killed after {self.launcher}")
        if "on_worker_loss" in job:
            words.append(job["on_worker_loss"])
        words += [f"{wanted} after {seconds} s" for seconds, wanted in self.resizes]
        words += [f"{key} {value}" for key, value in self.supervision]
        words += [str(move) for move in self.moves]
        return ", ".join(words) + "; " + " ".join(self.chaos)


def cluster_text(job, cluster, worker, supervision=None):
    job = dict(job)
    command = [str(worker), *(str(word) for word in job.pop("mode"))]
    return json.dumps({"cluster": {"name": "soak", **cluster},
                       "supervision": {**SUPERVISION, **(supervision or {})},
                       "jobs": {"job": {"command": command, **job}}}, indent=1)  # JSON is YAML


def chaos_arguments(seed, roles, count, actions="kill", every="20ms..250ms"):
    return ("--seed", str(seed), "--every", every, "--roles", ",".join(roles), "--count", str(count),
            "--actions", actions)


def draw_workload(chance, clocks, workers, pause_us=PAUSE_US):
    return {"workers": workers, "mode": ["workload", clocks, pause_us, chance.choice(WAYS)],
            "consistency": {"policy": "bsp"}, "seed": chance.choice((1, 2)),
            "optimizer": {"name": chance.choice(OPTIMIZERS), "learning_rate": 0.05}}


def draw_count(chance, clocks, workers, pause_us=PAUSE_US):
    return {"workers": workers, "mode": ["count", clocks, pause_us], "reduce": "sum",
            "consistency": chance.choice(POLICIES)}


def has_aggregators(job):
    """Whether the plan has any (policies/placement/aggregation_tree.hpp)."""
    sums = job.get("aggregators")
    return sums == "per_host" or bool(sums) and job["workers"] > sums["fan_in"]


def draw_chaos(chance, job, roles, replicas):
    """(arguments of tidegate chaos, lives of the launcher): who of these roles is hit, how often and when."""
    roles = [role for role in roles if role != "aggregator" or has_aggregators(job)]
    if replicas:
        # With two of them the next dies while the one before is being replaced.
        every = "20ms..300ms" if replicas > 1 else "100ms..500ms"
        chaos = [role for role in roles if role in (*GROUP, *ALWAYS)]
        return chaos_arguments(chance.randrange(1 << 32), chaos, chance.randrange(6, 16), every=every), ()
    roles = [role for role in roles if role != "replica"]
    goes_back = "checkpoint" in job
    hit = [role for role in roles if role in ALWAYS or (goes_back and role in WITH_CHECKPOINTS)]
    chaos = [role for role in hit if role != "launcher"]
    # Who goes back needs the time to get somewhere again.
    often = dict(count=chance.randrange(2, 7), every="100ms..1500ms") if goes_back else dict(
        count=chance.randrange(6, 16))
    arguments = chaos_arguments(chance.randrange(1 << 32), chaos, actions=chance.choice(
        ("kill", "kill", "kill,stop:50ms")), **often)
    lives = tuple(round(chance.uniform(0.05, 2.5), 3) for _ in range(chance.choice((1, 1, 2))))
    return arguments if chaos else (), lives if "launcher" in hit else ()


def draw_elastic(chance, job):
    """Makes it a job whose workers may be more and fewer; returns when they are to be."""
    job["mode"].append("fewer")
    if chance.random() < 0.5:
        job["on_worker_loss"] = "shrink"
    if chance.random() < 0.3:
        return ()
    job["max_workers"] = job["workers"] + chance.choice((0, 1, 3))
    return tuple((round(chance.uniform(0.3, 3.0), 2), f"workers={chance.randrange(1, job['max_workers'] + 1)}")
                 for _ in range(chance.choice((1, 2, 3))))


def draw_moves(chance, cluster):
    """Makes it a cluster whose shards move; returns when another number of them is wanted."""
    cluster["max_shards"] = cluster["shards"] + chance.choice((1, 2, 3))
    return tuple((round(chance.uniform(0.2, 3.0), 2), f"shards={chance.randrange(1, cluster['max_shards'] + 1)}")
                 for _ in range(chance.choice((1, 2, 4))))


def draw(seed, number, roles):
    chance = random.Random(f"{seed}/{number}")
    kind = chance.choice(("workload", "workload", "count"))
    may_go_back = any(role in WITH_CHECKPOINTS for role in roles)
    goes_back = may_go_back and (chance.random() < 0.5 or not any(role in ALWAYS for role in roles))
    # Deaths that take everything back are further apart.
    clocks = chance.choice(CLOCKS) * (2 if goes_back else 1)
    workers = chance.choice((2, 3, 4))
    job = (draw_workload if kind == "workload" else draw_count)(chance, clocks, workers)
    aggregators = chance.choice((None, None, {"fan_in": 2}, "per_host"))
    if list(roles) == ["aggregator"]:
        aggregators = "per_host"
    if aggregators:
        job["aggregators"] = aggregators
    if goes_back:
        job["checkpoint"] = CHECKPOINT
    cluster = {"shards": chance.choice((1, 2, 3)), "transport": chance.choice(("auto", "auto", "tcp", "ucx"))}
    replicated = goes_back and any(role in GROUP for role in roles) and (
        chance.random() < 0.6 or list(roles) == ["replica"])
    if replicated:
        cluster["replicas"] = chance.choice((1, 2))
    chaos, launcher = draw_chaos(chance, job, roles, cluster.get("replicas", 0))
    resizes = draw_elastic(chance, job) if kind == "count" and not goes_back and chance.random() < 0.6 else ()
    if chance.random() < 0.4:
        resizes += draw_moves(chance, cluster)
    return Round(number, kind, job, cluster, clocks, chaos, launcher, resizes)


def refuse_words(words, allowed, noun):
    """Why these are not all of the allowed ones; None: they are."""
    for word in words:
        if word not in allowed:
            return f"unknown {noun} '{word}'; allowed: {', '.join(allowed)}"
    return None if words else f"no {noun} is given"
