"""What some rows of a table must be after all pushes, computed with numpy: every push has a gradient of ones, and rows are
0 at first."""

import numpy

import row_draws

LEARNING_RATE = numpy.float32(0.01)
EPSILON = numpy.float32(1e-10)
ROWS = 1000  # that are compared, all over the table
POPULAR_ROWS = 100  # and of those that Zipf draws most often


def compared_rows(rows):
    """The numbers of the rows that are compared, ascending."""
    popular = numpy.arange(min(POPULAR_ROWS, rows), dtype=numpy.uint64) * numpy.uint64(row_draws.scatter_of(rows))
    return numpy.union1d(numpy.arange(0, rows, -(-rows // ROWS), dtype=numpy.uint64), popular % numpy.uint64(rows))


def adagrad(values, states, gradients):
    """A step, all in float32; changes values and states."""
    states += gradients * gradients
    values -= LEARNING_RATE * gradients / (numpy.sqrt(states) + EPSILON)


class Summed:
    """Rows that a clock steps once, with the sum of all ranks' gradients."""

    def __init__(self, rows):
        self.numbers = compared_rows(rows)
        self.values = numpy.zeros(len(self.numbers), numpy.float32)
        self.states = numpy.zeros(len(self.numbers), numpy.float32)

    def push(self, batches):
        pushes = sum(numpy.isin(self.numbers, batch).astype(numpy.float32) for batch in batches)
        at = pushes > 0
        values, states = self.values[at], self.states[at]
        adagrad(values, states, pushes[at])
        self.values[at], self.states[at] = values, states

    def check(self, values, states):
        """Of those rows. A last bit may differ, as others round elsewhere. States are compared, too: values are the same
        if all gradients are too large by one factor. Raises ValueError for the first row that is wrong."""
        for name, found, expected in (("values", values, self.values), ("states", states, self.states)):
            right = numpy.isclose(found, expected[:, None], rtol=1e-5, atol=1e-7).all(axis=1)
            if not right.all():
                at = int(right.argmin())
                raise ValueError(f"wrong {name} of row {self.numbers[at]}: expected {expected[at]:.9g}, found {found[at]}")


class Counted:
    """Rows of a store that cannot add: each push is a step of its own, and may be lost if another rank pushes the row at the
    same time. The state of a row is the number of its steps."""

    def __init__(self, rows, ranks):
        self.numbers = compared_rows(rows)
        self.pushes = numpy.zeros((ranks, len(self.numbers)), numpy.int64)
        self.after = [numpy.float32(0)]  # values after 0, 1, ... steps
        self.state = numpy.zeros(1, numpy.float32)

    def push(self, batches):
        for rank, batch in enumerate(batches):
            self.pushes[rank] += numpy.isin(self.numbers, batch)

    def check(self, values, states):
        """Returns how many pushes were lost. Raises ValueError for the first row whose values are not those of its steps, or
        that has lost a push though no other rank has pushed it."""
        pushed = self.pushes.sum(axis=0)
        alone = (self.pushes > 0).sum(axis=0) <= 1
        steps = states[:, 0].astype(numpy.int64)
        possible = numpy.where(alone, steps == pushed, (steps >= 0) & (steps <= pushed))
        expected = self.values_after(int(pushed.max()))[numpy.where(possible, steps, 0)]
        right = possible & (states == steps[:, None]).all(axis=1) & (values == expected[:, None]).all(axis=1)
        if not right.all():
            at = int(right.argmin())
            raise ValueError(f"wrong row {self.numbers[at]} after {pushed[at]} pushes: state {states[at]}, "
                             f"values {values[at]}")
        return int((pushed - steps).sum())

    def values_after(self, steps):
        value = numpy.full(1, self.after[-1], numpy.float32)
        while len(self.after) <= steps:
            adagrad(value, self.state, numpy.ones(1, numpy.float32))
            self.after.append(value[0])
        return numpy.array(self.after, numpy.float32)
