"""Sparse logistic regression by delayed block proximal gradient (Li et al., OSDI 2014, section 5.1): a worker.

    python3 examples/languages/prepare.py
    python3 examples/sparse_logistic/compare.py

For each of 16 languages a logistic regression tells whether a paragraph is in it, from the n-grams of its characters. A
row has the weights of an n-gram for all languages, and `proximal` with an L1 cost steps it. n-grams are in blocks; a clock
is of one block, whose gradients over all of a worker's paragraphs are pushed. The rows of a block are pulled `delay + 1`
clocks later, when all workers' pushes of it are in: the delay is the staleness of the policy, and 0 under bsp.

What a worker computes follows from the rows that it pulled and from its state, so any process may be killed at any moment;
under bsp the parameters come out with the same bits.
"""

import argparse
import pathlib
import re
import sys

import numpy as np
import tidegate

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "languages"))
from paragraphs import ngrams, read  # noqa: E402

LANGUAGES = 16
BITS = 22  # of an id
ROW_BYTES = 8 + 4 * LANGUAGES  # an id, and its weights or gradients


def features(text: str) -> tuple[np.ndarray, np.ndarray]:
    """The n-grams of a text, each once, and roots of their counts; their norm is 1."""
    ids, counts = np.unique(ngrams(text), return_counts=True)
    return ids, np.sqrt(counts / counts.sum()).astype(np.float32)


class Block:
    """Features of some paragraphs that are in one block, by id."""

    def __init__(self, ids: np.ndarray, samples: np.ndarray, weights: np.ndarray, count: int) -> None:
        self.ids, starts, self.rows = np.unique(ids, return_index=True, return_inverse=True)
        self.starts, self.samples, self.weights, self.count = starts, samples, weights, count

    def scores(self, values: np.ndarray) -> np.ndarray:
        """What these features add to the scores of all samples, of shape (samples, LANGUAGES). Most rows are 0."""
        chosen = (values != 0).any(axis=1)[self.rows]
        terms = values.T[:, self.rows[chosen]] * self.weights[chosen]
        samples = self.samples[chosen]
        return np.stack([np.bincount(samples, of_language, self.count) for of_language in terms], axis=1)

    def gradient(self, slopes: np.ndarray) -> np.ndarray:
        """Of the losses of all samples, whose slopes are by score, for each id."""
        if len(self.ids) == 0:
            return np.empty((0, LANGUAGES), np.float32)
        return np.add.reduceat(self.weights[:, None] * slopes[self.samples], self.starts, axis=0)


def blocks_of(texts: list[str], count: int) -> list[Block]:
    """The features of texts, in blocks of ids."""
    found = [features(text) for text in texts]
    ids = np.concatenate([ids for ids, _ in found])
    weights = np.concatenate([weights for _, weights in found])
    samples = np.repeat(np.arange(len(texts)), [len(ids) for ids, _ in found])
    order = np.lexsort((samples, ids))
    ids, weights, samples = ids[order], weights[order], samples[order]
    edges = np.searchsorted(ids * np.uint64(count) >> np.uint64(BITS), np.arange(count + 1))
    return [Block(ids[a:b], samples[a:b], weights[a:b], len(texts)) for a, b in zip(edges, edges[1:])]


def block_at(clock: int, count: int, seed: int) -> int:
    """Each pass over the blocks has an order of its own."""
    return int(np.random.default_rng([seed, clock // count]).permutation(count)[clock % count])


class Worker:
    """This worker's share of the samples, its view of the rows, and its filters."""

    def __init__(self, s: tidegate.Session, options: argparse.Namespace, texts: list[str], labels: np.ndarray) -> None:
        self.s, self.options = s, options
        self.blocks = blocks_of(texts[s.rank::s.size], options.blocks)
        own = labels[s.rank::s.size]
        self.signs = np.where(own[:, None] == np.arange(LANGUAGES), 1.0, -1.0)
        self.share = s.size / len(texts)  # the mean over workers is then that over all samples
        delay = re.fullmatch(r"ssp\((\d+)\)", s.policy)
        self.delay = int(delay[1]) if delay else 0
        # Where each worker's push is a step of its own, each has its share of the cost.
        l1 = options.l1 if s.policy == "bsp" else options.l1 / s.size
        self.rows = s.rows("weights", LANGUAGES, optimizer=tidegate.proximal(options.rate, l1=l1), init=0.0)
        self.totals = s.table("totals", 3, optimizer=tidegate.sgd(1.0), init=0.0)
        self.kkt = tidegate.filters.KktFilter(LANGUAGES, l1=options.l1, slack=options.slack * options.l1)
        self.pulls = tidegate.filters.PullFilter(LANGUAGES, rest=max(1, options.rest * options.blocks), initial=0.0)
        self.values = [np.zeros((len(block.ids), LANGUAGES), np.float32) for block in self.blocks]
        self.scores = [np.zeros_like(self.signs) for _ in self.blocks]
        self.moved = np.zeros(2, np.int64)  # rows pushed, rows pulled
        self.goes_on()

    def goes_on(self) -> None:
        """Takes up what a process before this one has left."""
        if self.s.now == 0:
            return
        self.moved = np.array(self.s.state["moved"])
        if self.options.rest > 0:
            self.pulls.restore(self.s.state["pulls"])
        steps = min(self.s.now, self.options.passes * self.options.blocks) - 1 - self.delay
        for at in {self.block_of(clock) for clock in range(steps)}:
            self.look(at, is_kept=True)

    def block_of(self, clock: int) -> int:
        return block_at(clock, self.options.blocks, self.s.seed)

    def look(self, at: int, *, is_kept: bool = False) -> None:
        """Takes in the rows of a block as they are now, or as a process before has kept them."""
        block = self.blocks[at]
        if self.options.rest == 0:
            self.values[at] = self.rows.pull(block.ids)
            self.moved[1] += 0 if is_kept else len(block.ids)
        else:
            if not is_kept:
                wanted = self.pulls.wanted(self.s.now, block.ids)
                self.pulls.store(self.rows.pull(wanted))
                self.moved[1] += len(wanted)
            self.values[at] = self.pulls.gather(block.ids)
        self.scores[at] = block.scores(self.values[at])

    def step(self) -> None:
        """A clock: the rows of a block that is complete, then the gradients of the next."""
        s, options = self.s, self.options
        if s.now > self.delay:
            self.look(self.block_of(s.now - 1 - self.delay))
        at = self.block_of(s.now)
        slopes = (-self.share * self.signs / (1 + np.exp(self.signs * sum(self.scores)))).astype(np.float32)
        ids = self.blocks[at].ids
        gradients = self.blocks[at].gradient(slopes)
        if options.filter == "kkt":
            ids, gradients = self.kkt.rows(ids, self.values[at], gradients)
        self.moved[0] += len(ids)
        self.pulls.pushed(ids)
        s.state["moved"] = self.moved
        if options.rest > 0:
            s.state["pulls"] = self.pulls.save()
        self.rows.push(ids, gradients, wait=False)
        s.clock()

    def add_up(self) -> None:
        """A last clock, in which the totals of all workers come together: losses, and rows that have travelled."""
        scores = sum(block.scores(self.rows.pull(block.ids, final=True)) for block in self.blocks)
        losses = float(np.logaddexp(0, -self.signs * scores).sum())
        self.s.state["moved"] = self.moved
        self.totals.push(np.array([losses * self.share, *(self.moved * self.s.size * ROW_BYTES / 1e6)], np.float32))
        self.s.clock()

    def report(self, texts: list[str], labels: np.ndarray) -> None:
        """Of rank 0: the objective, what of it is 0, and how well it does on texts of the test."""
        s = self.s
        ids, values = self.rows.items()
        self.totals.pull_final()
        loss, pushed, pulled = (-float(number) for number in self.totals.value)
        own = sum(len(block.ids) for block in self.blocks)
        zeros = sum(np.count_nonzero(self.rows.pull(block.ids, final=True) == 0) for block in self.blocks)
        scores = sum(block.scores(self.rows.pull(block.ids, final=True)) for block in blocks_of(texts, self.options.blocks))
        s.report_metric("objective", loss + self.options.l1 * float(np.abs(values).sum(dtype=np.float64)))
        s.report_metric("test_accuracy", float((scores.argmax(axis=1) == labels).mean()))
        s.report_metric("zero_share", zeros / (own * LANGUAGES))
        s.report_metric("rows", len(ids))
        s.report_metric("mb_pushed", pushed)
        s.report_metric("mb_pulled", pulled)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default="build/languages", help="what prepare.py has written")
    parser.add_argument("--paragraphs", type=int, help="so many of those to learn from; without it all")
    parser.add_argument("--passes", type=int, default=10, help="over all blocks")
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--rate", type=float, default=300.0, help="learning rate")
    parser.add_argument("--l1", type=float, default=1e-4, help="cost of the magnitude of a weight")
    parser.add_argument("--filter", choices=["kkt", "none"], default="kkt", help="of pushes")
    parser.add_argument("--slack", type=float, default=0.3, help="of the filter of pushes, in shares of the cost")
    parser.add_argument("--rest", type=int, default=0, help="passes that a row is not pulled which has not changed; 0: it is pulled in each")
    options = parser.parse_args()
    texts, labels = (part[:options.paragraphs] for part in read(options.data / "train.tsv"))

    with tidegate.session() as s:
        worker = Worker(s, options, texts, labels)
        clocks = options.passes * options.blocks
        while s.now < clocks:
            worker.step()
            s.report(clocks_total=clocks + 1, epoch=s.now / options.blocks, samples=s.now * len(worker.signs) // options.blocks)
        if s.now == clocks:
            worker.add_up()
        if s.rank == 0:
            worker.report(*read(options.data / "test.tsv"))


if __name__ == "__main__":
    main()
