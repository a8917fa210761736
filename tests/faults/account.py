"""The account of scripts/soak: what was done, what was broken, and how long it took to go on. Pure."""

import collections
import itertools
import json
import re

# What must be 0. The rest is told.
BROKEN = ("hangs", "hash_mismatches", "lost_pushes", "double_pushes", "staleness_violations", "leaks", "failed_runs",
          "memory_growths", "silences")
# What is done beside kills and stops of a moment, as chaos.jsonl calls it.
FAULTS = ("cut", "partition", "stall", "silent_host")
HOST_FAULTS = ("host_kill", "agent_kill", "host_cut")  # of rounds on several hosts with agents


def lines_of(text):
    """Of events.jsonl or chaos.jsonl, with the times when they happened; a line that is not whole yet is left out."""
    whole = text[:text.rfind("\n") + 1]
    lines = [json.loads(line) for line in whole.splitlines()]
    return [{**line, "unix_ns": line.get("happened_ns", line["unix_ns"])} for line in lines]


def hits(chaos):
    """(kills by role, number of stops) of the lines of a chaos.jsonl."""
    kills = collections.Counter(line["detail"].split("-", 1)[0] for line in chaos if line["kind"] == "kill")
    return kills, sum(line["kind"] == "stop" for line in chaos)


def faults(chaos):
    """How many of FAULTS and HOST_FAULTS there are, and who was stalled, by role."""
    stalls = collections.Counter(line["detail"].split("-", 1)[0] for line in chaos if line["kind"] == "stall")
    return collections.Counter(line["kind"] for line in chaos if line["kind"] in FAULTS + HOST_FAULTS), stalls


def resumed(event):
    """The name of the process that an event says to go on, or None."""
    found = re.fullmatch(r"(\S+) rank (\d+) at clock \d+", event["detail"])
    return f"worker-{found[1]}-{found[2]}" if event["kind"] == "worker_resumes" and found else None


def failovers_ms(chaos, events):
    """From each kill to the moment when the process that came for it went on. A kill whose successor was killed before
    it went on is not counted; the last of them is. Nor is one whose launcher was killed before that: processes of the next
    life are nobody's successors."""
    found = []
    for at, kill in enumerate(chaos):
        if kill["kind"] != "kill":
            continue
        name = kill["detail"].split(" ", 1)[0]
        later = [e for e in events if e["unix_ns"] > kill["unix_ns"]]
        later = list(itertools.takewhile(lambda e: e["kind"] != "run_resumed", later))
        again = next((e["unix_ns"] for e in later if e["kind"] == "process_restarted"
                      and e["detail"].split(" ", 1)[0] == name), None)
        if again is None:
            continue
        went_on = next((e["unix_ns"] for e in later if e["unix_ns"] >= again and resumed(e) == name), None)
        next_kill = next((k["unix_ns"] for k in chaos[at + 1:]
                          if k["kind"] == "kill" and k["detail"].split(" ", 1)[0] == name), None)
        if went_on is not None and (next_kill is None or went_on < next_kill):
            found.append((went_on - kill["unix_ns"]) / 1e6)
    return found


def promotions(chaos, events, shards):
    """(killed, promoted) of each kill of a primary: the moment when the coordinator made its replica the primary. Events
    that died with a coordinator are missing. Replicas of all shards are counted through (policies/placement/replica_chain.hpp)."""
    name_of = lambda line: re.match(r"(?:shard|replica)-(\d+) ", line["detail"])  # noqa: E731
    kills = [(line["unix_ns"], int(name_of(line)[1]) % shards) for line in chaos
             if line["kind"] == "kill" and name_of(line)]
    found = []
    for at, (killed, group) in enumerate(kills):
        until = next((when for when, which in kills[at + 1:] if which == group), float("inf"))
        found += [(killed, e["unix_ns"]) for e in events if e["kind"] == "replica_promoted"
                  and e["detail"] == f"shard {group}" and killed < e["unix_ns"] < until][:1]
    return found


def promotions_ms(chaos, events, shards):
    return [(promoted - killed) / 1e6 for killed, promoted in promotions(chaos, events, shards)]


def served_ms(chaos, events, pulls, shards):
    """From each kill of a primary to the end of the first pull that began after it. A pull is of all shards, and under
    bsp waits for all workers; `pulls`: (begun, served)."""
    return [(min(ends) - killed) / 1e6 for killed, _ in promotions(chaos, events, shards)
            if (ends := [end for begin, end in pulls if begin >= killed])]


def shards_out_of_sync(events, shards):
    """The shards that have no replica in sync yet, at first or since one of their processes died."""
    waiting = set(range(shards))
    for event in sorted(events, key=lambda event: event["unix_ns"]):
        if event["kind"] == "epoch":
            waiting = set(range(shards))
        elif found := re.match(r"(?:shard|replica)[- ](\d+)", event["detail"]):
            shard = int(found[1]) % shards
            if event["kind"] == "replica_in_sync":
                waiting.discard(shard)
            elif event["kind"] in ("process_died", "shard_lost", "replica_lost"):
                waiting.add(shard)
    return waiting


def stays(changes, workers):
    """By rank: [first clock, first clock without it] of each stay; None: to the end. `changes`: as in result.json."""
    found = {rank: [[0, None]] for rank in range(workers)}
    for one in changes:
        if one["joins"]:
            found.setdefault(one["rank"], []).append([one["clock"], None])
        else:
            found[one["rank"]][-1][1] = one["clock"]
    return found


def pushes_of(changes, workers, clocks):
    """By all who took part, when each pushes once in each of its clocks."""
    return sum(max(0, (clocks if last is None else min(last, clocks)) - first)
               for times in stays(changes, workers).values() for first, last in times)


def judge_failure(failure):
    """Which figure a job's failure belongs to. The counting worker says what it has found and what it should be."""
    found = re.search(r"(\d+)\S* pushes, not within (\d+)\S* and (\d+)", failure or "")
    if not found:
        return "failed_runs"
    seen, least, most = (int(number) for number in found.groups())
    return "lost_pushes" if seen < least else "double_pushes" if seen > most else "failed_runs"


def percentile(values, share):
    """The nearest rank; None of nothing."""
    if not values:
        return None
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, max(0, -(-int(share * len(ordered)) // 100) - 1))], 1)


def spread(values):
    return {"p50": percentile(values, 50), "p99": percentile(values, 99), "max": percentile(values, 100),
            "measured": len(values)}


class Account:
    def __init__(self, seed):
        self.seed = seed
        self.rounds = 0
        self.seconds = 0
        self.kills = collections.Counter()
        self.stops = 0
        self.faults = collections.Counter()
        self.stalls = collections.Counter()
        self.hosts_lost = 0
        self.silences = []  # (milliseconds, where, when in it)
        self.figures = dict.fromkeys(BROKEN, 0)
        self.failovers = []
        self.promotions = []
        self.served = []
        self.memory = None
        self.problems = []

    def problem(self, figure, where, what, logs=None):
        self.figures[figure] += 1
        self.problems.append({"figure": figure, "where": where, "what": what, "logs": logs and str(logs)})

    def add_done(self, chaos, events=()):
        self.hosts_lost += sum(event["kind"] == "host_lost" for event in events)
        kills, stops = hits(chaos)
        done, stalls = faults(chaos)
        self.kills += kills
        self.stops += stops
        self.faults += done
        self.stalls += stalls

    def add_silence(self, where, fault, silent_ms, at_ms):
        """The longest of a round."""
        self.silences.append((silent_ms, where, fault, at_ms))

    def add_hits(self, chaos, events, pulls=(), shards=1):
        """Of rounds whose faults are deaths, and so have times to go on."""
        self.add_done(chaos)
        self.failovers += failovers_ms(chaos, events)
        if shards is None:
            return
        self.promotions += promotions_ms(chaos, events, shards)
        self.served += served_ms(chaos, events, pulls, shards)

    @property
    def all_kills(self):
        return sum(self.kills.values())

    @property
    def good(self):
        """Nothing is broken, and something was tried."""
        return not any(self.figures.values()) and self.all_kills + self.faults.total() > 0

    def silence(self):
        """By fault, and the worst."""
        longest = {}
        for silent_ms, _, fault, _ in self.silences:
            longest[fault] = max(silent_ms, longest.get(fault, 0))
        worst = max(self.silences, default=None)
        return {**spread([silent_ms for silent_ms, *_ in self.silences]), "longest_by_fault": longest,
                "worst": worst and {"where": worst[1], "fault": worst[2], "after_ms": worst[3]}}

    def to_json(self):
        return {"seed": self.seed, "seconds": round(self.seconds), "rounds": self.rounds, "kills": dict(self.kills),
                "stops": self.stops, "faults": {kind: self.faults[kind] for kind in FAULTS}, "stalls": dict(self.stalls),
                "hosts": {kind: self.faults[kind] for kind in HOST_FAULTS}, "hosts_lost": self.hosts_lost,
                **self.figures, "silent_ms": self.silence(), "failover_ms": spread(self.failovers),
                "promoted_ms": spread(self.promotions), "served_ms": spread(self.served), "memory": self.memory,
                "problems": self.problems}
