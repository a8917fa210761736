"""Rounds of scripts/soak --main-job: the example that the benchmarks use, as it is, but for its optimizer, with replicas,
and aggregators in every other round; its launcher is not killed. Pure: the same seed and number give the same round."""

import dataclasses
import json
import pathlib
import random

import rounds

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/fashion_mnist.yaml"
# Momentum and Adam; both learn what the example is to learn.
OPTIMIZERS = ("{name: adam, learning_rate: 0.0003}", "{name: momentum, learning_rate: 0.05}")
KILLS = (10, 30)  # in a round, the last excluded; the undisturbed job takes some 15 s on two cores


@dataclasses.dataclass(frozen=True)
class Round:
    number: int
    optimizer: str
    sums: bool
    replicas: int
    chaos: tuple
    kind = "workload"  # its bits are compared
    staleness = 0
    launcher = ()
    shards = 2
    resizes = ()
    fault = "kill"
    moves = ()

    def yaml(self, _worker, _hosts=None):
        text = self.calm(_worker)
        text = replaced(text, "  shards: 2 ", f"  replicas: {self.replicas}\n  shards: 2 ")
        if self.sums:
            text = replaced(text, "    workers: 4\n", "    workers: 4\n    aggregators: {fan_in: 2}\n")
        return text + f"\nsupervision: {json.dumps(rounds.SUPERVISION)}\n"

    def calm(self, _worker):
        before = next(line for line in EXAMPLE.read_text().splitlines() if line.startswith("    optimizer: "))
        return replaced(EXAMPLE.read_text(), before, f"    optimizer: {self.optimizer}")

    @property
    def calm_key(self):
        return self.optimizer

    def __str__(self):
        return (f"the main job, {self.optimizer}" + (", aggregators" if self.sums else "") + f", replicas {self.replicas}; "
                + " ".join(self.chaos))


def replaced(text, before, after):
    assert text.count(before) == 1, f"the example has one '{before.strip()}'"
    return text.replace(before, after)


def draw(seed, number, roles):
    chance = random.Random(f"{seed}/main/{number}")
    sums = number % 2 == 1
    hit = [role for role in roles if role != "launcher" and (sums or role != "aggregator")]
    chaos = rounds.chaos_arguments(chance.randrange(1 << 32), hit, chance.randrange(*KILLS), every="100ms..1s")
    return Round(number, OPTIMIZERS[number // 2 % 2], sums, 1 + number // 4 % 2, chaos if hit else ())
