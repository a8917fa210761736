"""Runs rows of ours and of the peers side by side: first every variant of a peer once, then the best of each system in turn,
round by round, for each distribution of ids."""

import dataclasses
import pathlib
import statistics
import tempfile

import rows_systems
import systems
from compare import say

SECONDS_PER_RUN = 400
TRIAL_REPEATS = 3
# Of rows of a round: how far peers' may be from ours. They draw the same, but a last bit of a power may differ.
ROWS_TOLERANCE = 1e-3


@dataclasses.dataclass
class Settings:
    build: pathlib.Path
    python: str
    work: rows_systems.Work  # with any distribution
    distributions: list  # exponents of Zipf; 0 is uniform
    rounds: int = 5
    peers: tuple = tuple(rows_systems.PEERS)
    every_variant: bool = True  # try all of a peer's, else only its first


class Comparison:
    def __init__(self, settings, measure=rows_systems.measure):
        self.settings = settings
        self.measure = measure
        self.commands = {}  # of each variant, as first started

    def run(self):
        with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as name:
            self.folder = pathlib.Path(name)
            trials, field = self.choose()
            return {"trials": trials, "commands": self.commands,
                    "distributions": [self.distribution(field, zipf) for zipf in self.settings.distributions]}

    def choose(self):
        """Ours, and of every peer's systems the variant that was the fastest when tried once, with the first distribution."""
        work = dataclasses.replace(self.settings.work, zipf=self.settings.distributions[0],
                                   repeat=min(TRIAL_REPEATS, self.settings.work.repeat))
        field = rows_systems.ours(self.settings.build)
        trials = {}
        for peer in self.settings.peers:
            best = {}
            for variant in rows_systems.PEERS[peer].variants(self.settings.python):
                if not self.settings.every_variant:
                    best.setdefault(variant.system, (0, variant))
                    continue
                found = self.once(variant, work, trials)
                if not found:
                    continue
                rate = statistics.median(found["rates"])
                trials[name_of(variant)] = rate
                best[variant.system] = max(best.get(variant.system, (0, variant)), (rate, variant),
                                           key=lambda pair: pair[0])
            field += [variant for _, variant in best.values()]
        return trials, field

    def distribution(self, field, zipf):
        work = dataclasses.replace(self.settings.work, zipf=zipf)
        say(f"{work.workers} workers, {work.rows} rows of {work.dim}, {rows_systems.distribution(work)}")
        runs = {variant: {} for variant in field}
        failures = {}
        for number in range(self.settings.rounds):
            # Nobody is always first.
            turn = number % len(field)
            for variant in field[turn:] + field[:turn]:
                found = self.once(variant, work, failures)
                if found:
                    runs[variant][number] = found
        return {"zipf": zipf, "failures": failures,
                "systems": [{"system": variant.system, "variant": variant.name, **summary(found)}
                            for variant, found in agreeing(runs, failures).items()]}

    def once(self, variant, work, failures):
        name = name_of(variant)
        self.commands.setdefault(name, self.shown(variant, work))
        try:
            found = self.measure(variant, work, self.folder, SECONDS_PER_RUN)
        except systems.Failed as why:
            say(f"  {name}: {why}")
            failures[name] = str(why)
            return None
        say(f"  {name}: {statistics.median(found['rates']) / 1e6:.3f} M rows/s")
        return found

    def shown(self, variant, work):
        words = [f"{key}={value}" for key, value in variant.environment]
        words += rows_systems.commands(variant, work, pathlib.Path("DIR"))[0]
        for path, name in ((self.settings.build, "BUILD"), (self.settings.python, "PYTHON"),
                           (rows_systems.PEERS_FOLDER, "PEERS")):
            words = [name + word[len(str(path)):] if word.startswith(str(path)) else word for word in words]
        return " ".join(words)


def name_of(variant):
    return f"{variant.system}: {variant.name}"


def agreeing(runs, failures):
    """Without the runs that pulled and pushed another number of rows than the first did."""
    expected = next((run["rows_per_round"] for found in runs.values() for run in found.values()), 0)
    result = {}
    for variant, found in runs.items():
        for run in found.values():
            if abs(run["rows_per_round"] / expected - 1) > ROWS_TOLERANCE:
                failures[name_of(variant)] = f"{run['rows_per_round']:.0f} rows in a round, not {expected:.0f}"
        if found and name_of(variant) not in failures:
            result[variant] = found
    return result


def summary(runs):
    """Of the runs by round; a round's figure is the median of its repeats."""
    medians = {number: statistics.median(run["rates"]) for number, run in runs.items()}

    def middle(key):
        found = [run[key] for run in runs.values() if run.get(key) is not None]
        return statistics.median(found) if found else None

    result = {"rounds": medians, "min": min(medians.values()), "median": statistics.median(medians.values()),
              "max": max(medians.values()), "verified": sum(run["verified"] for run in runs.values()),
              "versions": next(iter(runs.values()))["versions"], "rates": {n: run["rates"] for n, run in runs.items()}}
    for key in ("rows_per_servers_cpu_second", "rows_per_cpu_second", "rows_per_round", "lost"):
        result[key] = middle(key)
    return result
