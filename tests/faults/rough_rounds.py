"""Rounds of scripts/soak in which more goes wrong than deaths: connections are cut, hosts partitioned, processes stopped for
long, hosts gone without a word. Pure: the same seed and number give the same round."""

import dataclasses
import random

import rounds

# A job lasts for as long as the moves take; where what lasts is short, so is it.
CLOCKS = 600
CLOCKS_SHORT = 250
PAUSE_US = 30000  # at most, of a worker in a clock
SECONDS = (5.0, 40.0)  # that a stall, a partition or the silence of a host lasts

# A stall shorter than the first is none; every stall is longer than those of the second.
LONG_HEARTBEAT = "60s"
SHORT_HEARTBEATS = ("1s", "2s")
UNREACHABLE = ("4s", "10s")


@dataclasses.dataclass(frozen=True)
class Move:
    kind: str  # kill, cut, stall, partition, silent_host
    after: float  # seconds since the job has gone on after the move before
    draw: int  # chooses among those who live then
    role: str = ""  # of kill and stall: who is hit
    seconds: float = 0  # that it lasts
    meanwhile: str = ""  # the role of who is killed in the middle of it

    def __str__(self):
        words = [self.kind, self.role, f"for {self.seconds} s" if self.seconds else "",
                 f"and meanwhile kill {self.meanwhile}" if self.meanwhile else ""]
        return " ".join(word for word in words if word)


def roles_there(job, cluster, roles):
    """Those of `roles` that this cluster has."""
    absent = set() if rounds.has_aggregators(job) else {"aggregator"}
    absent |= set() if cluster.get("replicas") else {"replica"}
    return [role for role in roles if role not in absent]


class Mover:
    """Draws moves of one round."""

    def __init__(self, chance, roles, seconds):
        self.chance = chance
        self.roles = roles
        self.mortal = [role for role in roles if role != "launcher"]
        self.seconds = seconds

    def move(self, kind, **rest):
        return Move(kind, round(self.chance.uniform(0.1, 0.6), 3), self.chance.randrange(1 << 32), **rest)

    def kills(self, counts):
        count = self.chance.choice(counts) if self.mortal else 0
        return tuple(self.move("kill", role=self.chance.choice(self.mortal)) for _ in range(count))

    def lasting(self, kind, **rest):
        return self.move(kind, seconds=round(self.chance.uniform(*self.seconds), 1), **rest)

    def stall(self, kills_meanwhile):
        role = self.chance.choice(self.roles)
        others = [other for other in self.mortal if other != role]
        # Who starts others again is the launcher, so nobody dies while that is stopped.
        kill = kills_meanwhile and role != "launcher" and others and self.chance.random() < 0.5
        return self.lasting("stall", role=role, meanwhile=self.chance.choice(others) if kill else "")

    def of(self, fault):
        if fault == "cut":
            return tuple(self.move("cut") for _ in range(self.chance.randrange(3, 9))) + self.kills((0, 1, 2))
        if fault == "stall":
            return (self.stall(True),) + self.kills((0, 1))
        if fault == "hang":
            return tuple(self.stall(False) for _ in range(self.chance.randrange(2, 5))) + self.kills((0, 1))
        return (self.lasting(fault),) + self.kills((1, 2, 3))


def draw_supervision(chance, fault):
    """Its heartbeat is shorter than stalls where they are to be deaths, and longer where they are not."""
    if fault == "hang":
        return (("heartbeat", {"timeout": chance.choice(SHORT_HEARTBEATS)}),)
    heartbeat = (("heartbeat", {"timeout": LONG_HEARTBEAT}),) if fault in ("stall", "silent_host") else ()
    unreachable = (("unreachable", chance.choice(UNREACHABLE)),) if has_two_hosts(fault) else ()
    return heartbeat + unreachable


def has_two_hosts(fault):
    return fault in ("partition", "silent_host")


def draw_fault(seed, number, faults):
    """What a round is about: each of them in turn, in another order each time."""
    order = list(faults)
    random.Random(f"{seed}/{number // len(order)}/order").shuffle(order)
    return order[number % len(order)]


def draw(seed, number, roles, fault, seconds=SECONDS):
    chance = random.Random(f"{seed}/{number}/{fault}")
    kind = chance.choice(("workload", "workload", "count"))
    workers = chance.choice((2, 3, 4))
    clocks = CLOCKS if seconds[1] >= SECONDS[0] else CLOCKS_SHORT
    job = (rounds.draw_workload if kind == "workload" else rounds.draw_count)(chance, clocks, workers, PAUSE_US)
    if aggregators := chance.choice((None, None, {"fan_in": 2}, "per_host")):
        job["aggregators"] = aggregators
    # Where all processes of a shard are lost at once, everything goes back.
    job["checkpoint"] = rounds.CHECKPOINT
    transport = "auto" if has_two_hosts(fault) else chance.choice(("tcp", "ucx", "auto"))
    cluster = {"shards": chance.choice((1, 2, 3)), "transport": transport, "replicas": chance.choice((1, 1, 2))}
    moves = Mover(chance, roles_there(job, cluster, roles), seconds).of(fault)
    return rounds.Round(number, kind, job, cluster, clocks, (), (), fault=fault, moves=moves,
                        supervision=draw_supervision(chance, fault))
