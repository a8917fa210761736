"""Who clicks on what: a recommendation model in the manner of DLRM, whose embeddings are rows on shards.

    tidegate launch examples/clicks/clicks.yaml

Clicks are generated: 26 fields whose values are popular by the law of Zipf, 13 numbers, and a hidden model that
decides. Each value of a field has a row: one weight of a linear model, which FTRL keeps sparse, and a vector, which
AdaGrad steps. Both are columns of one table; the dense layers are a model of PyTorch, which Adam steps on the shards.
A batch is a function of rank and clock, so any process may be killed at any moment, and the bits stay.
"""

import argparse

import numpy as np
import tidegate
import tidegate.torch
import torch
from torch import nn

FIELDS = 26
NUMBERS = 13
DIM = 16


def hashed(ids: np.ndarray, salt: int) -> np.ndarray:
    """Numbers in [-1, 1) that follow from ids: what the hidden model has learned by heart."""
    with np.errstate(over="ignore"):
        mixed = (ids + np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ mixed >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1


def clicks(seed: list[int], count: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids of shape (count, FIELDS), numbers of shape (count, NUMBERS), and who clicks."""
    random = np.random.default_rng(seed)
    values = random.zipf(1.3, (count, FIELDS)).astype(np.uint64) % np.uint64(1 << 32)
    ids = values | np.arange(FIELDS, dtype=np.uint64) << np.uint64(32)
    numbers = random.standard_normal((count, NUMBERS)).astype(np.float32)
    pairs = hashed(ids[:, ::2], 1) * hashed(ids[:, 1::2], 1)
    score = hashed(ids, 2).sum(axis=1) + 2 * pairs.sum(axis=1) + numbers[:, :4].sum(axis=1)
    clicked = random.random(count) < 1 / (1 + np.exp(-score))
    return torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(numbers), torch.from_numpy(clicked.astype(np.float32))


class Dense(nn.Module):
    """The layers below and above the dot products of all vectors (Naumov et al. 2019, figure 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(NUMBERS, 64), nn.ReLU(), nn.Linear(64, DIM), nn.ReLU())
        pairs = (FIELDS + 1) * FIELDS // 2
        self.top = nn.Sequential(nn.Linear(DIM + pairs, 64), nn.ReLU(), nn.Linear(64, 1))
        self.rows, self.columns = torch.tril_indices(FIELDS + 1, FIELDS + 1, offset=-1)

    def forward(self, rows: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        below = self.bottom(numbers)
        vectors = torch.cat([below[:, None], rows[:, :, 1:]], dim=1)
        dots = torch.bmm(vectors, vectors.transpose(1, 2))[:, self.rows, self.columns]
        return self.top(torch.cat([below, dots], dim=1)).squeeze(1) + rows[:, :, 0].sum(dim=1)


def area_under_curve(scores: torch.Tensor, clicked: torch.Tensor) -> float:
    """How often a click has a higher score than what nobody clicked on."""
    ranks = scores.argsort().argsort().double() + 1
    yes = clicked.sum().item()
    return (ranks[clicked > 0].sum().item() - yes * (yes + 1) / 2) / (yes * (len(clicked) - yes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clocks", type=int, default=600)
    parser.add_argument("--batch", type=int, default=512, help="samples of a worker and clock")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = Dense()

    with tidegate.session() as s:
        rows = tidegate.torch.Embedding(s, "values", 1 + DIM, segments=[
            tidegate.Segment(1, tidegate.ftrl(0.1, l1=0.001), init=0.0),
            tidegate.Segment(DIM, tidegate.adagrad(0.1), init=tidegate.uniform(0.1))])
        optimizer = tidegate.torch.DistributedOptimizer(tidegate.adam(0.002), model.named_parameters())
        for step in range(optimizer.steps, arguments.clocks):  # the dense layers begin in a clock of their own
            ids, numbers, clicked = clicks([1, step, s.rank], arguments.batch)
            optimizer.zero_grad()
            loss = nn.functional.binary_cross_entropy_with_logits(model(rows(ids), numbers), clicked)
            loss.backward()
            rows.push()
            optimizer.step()
            s.report(clocks_total=arguments.clocks + 1, loss=loss.item(), samples=(step + 1) * arguments.batch)

        optimizer.pull_final()
        if s.rank == 0:
            ids, numbers, clicked = clicks([2], 20000)
            rows.eval()
            with torch.no_grad():
                s.report_metric("test_auc", area_under_curve(model(rows(ids), numbers), clicked))


if __name__ == "__main__":
    main()
