"""Batches of rows as `tidegate bench rows` draws them, number by number, so that peers pull and push the rows that ours
does. Needs numpy.

The generator, the law of Zipf and the seeds are those of launch/bench/row_draws.cpp, zipf.cpp and rows_worker.cpp."""

import math

import numpy

CLOCKS_OF_ROUND = 8  # that are measured as a whole
SEED_OF_ROUNDS = 1  # of rank 0; the next ranks have the next seeds
ROWS_MAX = 1 << 31

MASK = (1 << 64) - 1
LOW = numpy.uint64(0xffffffff)
HALF = numpy.uint64(32)


def mix(numbers):
    """The finalizer of SplitMix64, which also makes an id of a row's number."""
    x = numpy.asarray(numbers, numpy.uint64) + numpy.uint64(0x9e3779b97f4a7c15)
    x = (x ^ (x >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
    x = (x ^ (x >> numpy.uint64(27))) * numpy.uint64(0x94d049bb133111eb)
    return x ^ (x >> numpy.uint64(31))


class Generator:
    def __init__(self, seed):
        self.state = int(mix([seed])[0])

    def next(self, count):
        first, self.state = self.state, (self.state + count) & MASK
        return mix(numpy.arange(count, dtype=numpy.uint64) + numpy.uint64(first))

    def below(self, bounds, count):
        """Numbers below bounds of at most 32 bits: the upper half of a product of 128 bits."""
        numbers, bounds = self.next(count), numpy.asarray(bounds, numpy.uint64)
        return ((numbers >> HALF) * bounds + (((numbers & LOW) * bounds) >> HALF)) >> HALF


class Popular:
    """Ranks below `rows` by the law of Zipf with exponent theta in [0, 1); 0 is uniform."""

    def __init__(self, rows, theta):
        self.rows, self.theta = rows, theta
        if theta == 0 or rows <= 2:
            return
        # Added in order, as a cumulative sum is.
        self.sum = float(numpy.cumsum(numpy.arange(1, rows + 1, dtype=numpy.float64) ** -theta)[-1])
        self.exponent = 1 / (1 - theta)
        self.slope = (1 - (2 / rows) ** (1 - theta)) / (1 - (1 + 2 ** -theta) / self.sum)

    def draw(self, generator, count):
        if self.theta == 0 or self.rows <= 2:
            return generator.below(self.rows, count)
        u = (generator.next(count) >> numpy.uint64(11)).astype(numpy.float64) * 2.0 ** -53
        ranks = self.rows * (self.slope * u - self.slope + 1) ** self.exponent
        ranks = numpy.minimum(ranks, self.rows - 1).astype(numpy.uint64)
        ranks[u * self.sum < 1 + 0.5 ** self.theta] = 1
        ranks[u * self.sum < 1] = 0
        return ranks


class Draws:
    """Distinct numbers of rows, batch after batch. Popular rows lie scattered, not side by side."""

    def __init__(self, rows, batch, theta, seed):
        if not 0 < rows <= ROWS_MAX:
            raise ValueError(f"{rows} rows; allowed: 1 to {ROWS_MAX}")
        self.rows, self.batch = rows, batch
        self.popular = Popular(rows, theta)
        self.generator = Generator(seed)
        self.scatter = scatter_of(rows)

    def next(self):
        ranks = self.popular.draw(self.generator, self.batch)
        numbers = numpy.unique(ranks * numpy.uint64(self.scatter) % numpy.uint64(self.rows)).tolist()
        last = len(numbers) - 1
        swaps = self.generator.below(numpy.arange(last + 1, 1, -1), last).tolist()
        for at, other in zip(range(last, 0, -1), swaps):
            numbers[at], numbers[other] = numbers[other], numbers[at]
        return numpy.array(numbers, numpy.uint64)


def scatter_of(rows):
    scatter = 0x9e3779b1
    while math.gcd(scatter, rows) != 1:
        scatter += 2
    return scatter


def draws_of_ranks(rows, batch, theta, ranks):
    return [Draws(rows, batch, theta, SEED_OF_ROUNDS + rank) for rank in range(ranks)]


def round_of(draws):
    """Batches of the clocks of a round: for each clock those of all these draws."""
    return [[own.next() for own in draws] for _ in range(CLOCKS_OF_ROUND)]
