"""Runs ours and the peers side by side: first every variant of a peer once, then the best few of each system in
turn, round by round, so that what else the machine does meets all alike."""

import dataclasses
import os
import pathlib
import statistics
import sys
import tempfile

import systems
import yardsticks

# Of a timed run, by size: enough to see a median, few enough to come round soon.
BYTES_PER_RUN = 512 << 20
ITERATIONS = (4, 50)
SECONDS_PER_RUN = 120
SECONDS_PER_TRIAL = 40
TRIAL_ITERATIONS = 4


@dataclasses.dataclass
class Settings:
    build: pathlib.Path
    configurations: list  # (workers, shards)
    sizes: list
    optimizer: str = "sgd"
    transport: str = "auto"
    pin: str = "auto"
    rounds: int = 5
    peers: tuple = ("gloo", "openmpi", "mpich")
    variants_kept: int = 2
    every_variant: bool = True  # try all of a peer's, else only its first


def say(text):
    print(text, file=sys.stderr, flush=True)


def iterations_of(size):
    low, high = ITERATIONS
    return max(low, min(high, BYTES_PER_RUN // size))


def summary(medians, cpu_seconds_per_gb, verified, work):
    """Of the rounds: each round's median exchange, seconds."""
    middle = statistics.median(medians)
    return {"rounds": medians, "min": min(medians), "median": middle, "max": max(medians),
            "payload_gb_per_s": work.workers * work.bytes / middle / 1e9,
            "cpu_seconds_per_gb": statistics.median(cpu_seconds_per_gb), "verified": verified}


class Comparison:
    def __init__(self, settings):
        self.settings = settings
        self.cores = len(os.sched_getaffinity(0))
        self.commands = {}  # of each variant, as first started

    def run(self):
        with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as name:
            self.folder = pathlib.Path(name)
            return {"configurations": [self.configuration(workers, shards)
                                       for workers, shards in self.settings.configurations],
                    "latency": self.latency(), "commands": self.commands}

    def configuration(self, workers, shards):
        sizes = []
        for size in self.settings.sizes:
            work = systems.Work(workers, shards, size, self.settings.optimizer, iterations_of(size),
                                transport=self.settings.transport, pin=self.settings.pin)
            sizes.append(self.size(work))
        return {"workers": workers, "shards": shards, "sizes": sizes}

    def size(self, work):
        say(f"{work.workers} workers, {work.shards} shards, {work.bytes} bytes")
        trials, field = self.choose(work)
        runs = {variant: [] for variant in field}
        ceilings = []
        failures = {}
        for number in range(self.settings.rounds):
            ceilings.append(yardsticks.roofline(self.settings.build / "bin/tidegate", [work.bytes], work.workers,
                                                work.optimizer, self.threads(work))[work.bytes])
            # Nobody is always first.
            turn = number % len(field)
            for variant in field[turn:] + field[:turn]:
                self.once(variant, work, SECONDS_PER_RUN, runs[variant], failures)
        return {"bytes": work.bytes, "iterations": work.iterations, "trials": trials,
                "roofline": self.ceilings_of_rounds(ceilings), "failures": failures,
                "variants": [{"system": variant.system, "variant": variant.name, **self.of_runs(found, work)}
                             for variant, found in runs.items() if found]}

    def threads(self, work):
        return sorted({min(work.shards, self.cores), self.cores})

    def choose(self, work):
        """What takes part: ours, and of every peer the variants that were fastest when tried once."""
        field = systems.variants(self.settings.build, "tidegate")
        trials = {}
        short = dataclasses.replace(work, iterations=min(TRIAL_ITERATIONS, work.iterations), warmup=2)
        for peer in self.settings.peers:
            found = systems.variants(self.settings.build, peer)
            if not self.settings.every_variant:
                field += found[:1]
                continue
            times = []
            for variant in found:
                runs = []
                self.once(variant, short, SECONDS_PER_TRIAL, runs, trials)
                if runs:
                    times.append((min(runs[0]["seconds"]), variant))
                    trials[f"{peer}: {variant.name}"] = times[-1][0]
            times.sort(key=lambda one: one[0])
            field += [variant for _, variant in times[:self.settings.variants_kept]]
        return trials, field

    def once(self, variant, work, seconds, into, failures):
        name = f"{variant.system}: {variant.name}"
        if name not in self.commands:
            words = systems.commands(variant, work, pathlib.Path("DIR"))[0]
            setting = [f"{key}={value}" for key, value in variant.environment]
            self.commands[name] = " ".join(setting + [self.shown(word) for word in words])
        try:
            result = systems.measure(variant, work, self.folder, seconds)
        except systems.Failed as why:
            say(f"  {name}: {why}")
            failures[name] = str(why)
            return
        say(f"  {name}: {statistics.median(result['seconds']) * 1e3:.3f} ms")
        into.append(result)

    def shown(self, word):
        build = str(self.settings.build)
        return "BUILD" + word[len(build):] if word.startswith(build) else word

    @staticmethod
    def of_runs(found, work):
        gigabytes = work.workers * work.bytes * work.iterations / 1e9
        result = summary([statistics.median(run["seconds"]) for run in found],
                         [run["cpu_seconds"] / gigabytes for run in found],
                         sum(run["verified"] for run in found), work)
        copied = [run["payload_bytes_copied"] for run in found if run["payload_bytes_copied"] is not None]
        return {**result, "payload_bytes_copied": copied[-1] if copied else None}

    @staticmethod
    def ceilings_of_rounds(rounds):
        """Per operation and number of threads, over the rounds: the best reading, and of the rounds' medians, as for
        exchanges, the median and the largest."""
        found = {}
        for ceilings in rounds:
            for one in ceilings:
                found.setdefault((one["operation"], one["threads"]), []).append(one)
        result = []
        for of_rounds in found.values():
            first = of_rounds[0]
            medians = [one["median_seconds"] for one in of_rounds]
            median = statistics.median(medians)
            result.append({**first, "min": min(one["seconds"] for one in of_rounds), "median": median,
                           "max": max(medians), "payload_gb_per_s": first["inputs"] * first["bytes"] / median / 1e9})
        return result

    def latency(self):
        say("latency")
        transport = self.settings.transport
        cpus = sorted(os.sched_getaffinity(0))
        ours, ucx = [], []
        for _ in range(self.settings.rounds):
            ours.append(yardsticks.latency(self.settings.build / "bin/tidegate", transport, self.settings.pin))
            trip = yardsticks.ucx_round_trip(transport, cpus)
            if trip is not None:
                ucx.append(trip)
        return {"bytes": 4096, "transport": transport, "p50": [one["p50_seconds"] for one in ours],
                "p99": [one["p99_seconds"] for one in ours], "ucx_round_trip": ucx}
