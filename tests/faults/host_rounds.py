"""Rounds of scripts/soak --hosts: the launcher runs on the first of several hosts, and the others, which have agents, are lost,
cut off and come back. Pure: the same seed and number give the same round, on any machine."""

import dataclasses
import math
import random

import rough_rounds
import rounds

SECONDS = (1.0, 20.0)  # that a cut, and the absence of a host that has died, lasts
UNREACHABLE = 10  # seconds of supervision.unreachable: a launcher that waits for a disk says nothing to its agents meanwhile
# Shares of UNREACHABLE: up to the first nobody counts as lost, between the others either side may give up, beyond both do.
SHORT, NEAR, LONG = 0.5, 0.8, 1.3
# An agent gets SIGKILL; a host is cut off; a host is cut off and all that runs there gets SIGKILL.
KINDS = ("agent_kill", "host_cut", "host_kill")
WITH_CHECKPOINTS = 0.8  # of all rounds
# A job goes on while a host is away, and is to last for as long as the moves take.
CLOCKS_PER_SECOND = 40
CLOCKS_STEP = 500  # jobs of as many clocks share their undisturbed run
SECONDS_AROUND_MOVE = 3


@dataclasses.dataclass(frozen=True)
class HostMove(rough_rounds.Move):
    settled: bool = False  # it waits until each shard has all its replicas in sync
    quiet: bool = False  # nothing tells the launcher of the death of the host

    def __str__(self):
        words = [super().__str__(), "quietly" if self.quiet else "", "when all are in sync" if self.settled else ""]
        return " ".join(word for word in words if word)


@dataclasses.dataclass(frozen=True)
class HostRound(rounds.Round):
    hosts: int = 3  # the first is the launcher's

    def __str__(self):
        return f"{self.hosts} hosts, {super().__str__()}"


def draw_seconds(chance, seconds):
    """Shorter than UNREACHABLE, about as long, or longer, where `seconds` has room for it."""
    first, last = seconds
    spans = [(first, SHORT * UNREACHABLE), (NEAR * UNREACHABLE, LONG * UNREACHABLE), (LONG * UNREACHABLE, last)]
    spans = [(max(first, begin), min(last, end)) for begin, end in spans]
    begin, end = chance.choice([span for span in spans if span[0] < span[1]] or [seconds])
    return round(chance.uniform(begin, end), 1)


def draw_move(chance, kind, roles, seconds, goes_back):
    """Without checkpoints nobody may die before the others are in sync."""
    return HostMove(kind, round(chance.uniform(0.1, 1.0), 3), chance.randrange(1 << 32),
                    role=chance.choice(roles) if kind == "kill" else "",
                    seconds=draw_seconds(chance, seconds) if kind in ("host_cut", "host_kill") else 0,
                    settled=not goes_back or chance.random() < 0.5,
                    quiet=kind == "host_kill" and chance.random() < 0.5)


def draw_moves(chance, roles, seconds, goes_back):
    """Two or three losses of hosts, and up to two deaths of single processes, in any order."""
    kinds = [chance.choice(KINDS) for _ in range(chance.choice((2, 3)))]
    kinds += ["kill"] * (chance.choice((0, 1, 2)) if roles else 0)
    chance.shuffle(kinds)
    return tuple(draw_move(chance, kind, roles, seconds, goes_back) for kind in kinds)


def trains_for(move):
    """Seconds in which the job goes on until the move is over: once the launcher knows that the host is lost."""
    known_after = 0 if move.kind == "host_kill" and not move.quiet else UNREACHABLE
    return SECONDS_AROUND_MOVE + max(0, move.seconds - known_after)


def clocks_for(moves):
    clocks = CLOCKS_PER_SECOND * sum(trains_for(move) for move in moves)
    return CLOCKS_STEP * math.ceil(clocks / CLOCKS_STEP)


def draw(seed, number, roles, seconds=SECONDS):
    chance = random.Random(f"{seed}/{number}/hosts")
    kind = chance.choice(("workload", "workload", "count"))
    hosts, workers = chance.choice((3, 3, 4)), chance.choice((3, 4, 5))
    goes_back = chance.random() < WITH_CHECKPOINTS
    extra = {"checkpoint": rounds.CHECKPOINT} if goes_back else {}
    extra.update(chance.choice(({}, {}, {"aggregators": "per_host"})))
    cluster = {"shards": chance.choice((2, 3)), "transport": chance.choice(("auto", "auto", "tcp")),
               "replicas": chance.choice((1, 1, 2))}
    mortal = [role for role in rough_rounds.roles_there(extra, cluster, roles) if role != "launcher"]
    moves = draw_moves(chance, mortal, seconds, goes_back)
    clocks = clocks_for(moves)
    job = (rounds.draw_workload if kind == "workload" else rounds.draw_count)(chance, clocks, workers, rough_rounds.PAUSE_US)
    return HostRound(number, kind, {**job, **extra}, cluster, clocks, (), (), fault="hosts", moves=moves,
                     supervision=(("unreachable", f"{UNREACHABLE}s"),), hosts=hosts)
