"""Which samples a worker trains on, so that none is lost or seen twice, whichever process dies.

::

    with tidegate.session() as s:
        w = s.table("w", 1000, optimizer=tidegate.sgd(0.1))
        batches = tidegate.data.sampler(len(samples), s, batch=64)
        while batches.epoch < 10:
            for indices in batches:
                w.pull()
                w.grad[:] = gradient_of(w.value, samples[indices])
                w.push()
                s.clock()

The position is state of the worker (``Session.state``): what a process has handed out and not ended a clock with, the
process in its place hands out again, and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional, Sized, Union

import numpy as np
from numpy.typing import NDArray

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from ._session import Session

Indices = NDArray[np.int64]


class Sampler:
    """The samples of one worker, in batches of indices; :func:`sampler` makes one.

    An iteration hands out the batches that are left of the current epoch. A batch counts as used by the clock that ends
    after it was handed out; a clock may use several. ``break`` leaves the rest for the next iteration.
    """

    def __init__(self, length: int, session: "Session", *, batch: int, seed: Optional[int], shuffle: bool,
                 drop_last: bool, name: str) -> None:
        for key, value in (("length", length), ("batch", batch)):
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise InvalidArgumentError(f"{key} of a sampler is {value!r}; allowed: numbers from 1")
        #: Samples of the data set, of all workers.
        self.length = int(length)
        #: Samples of a batch, at most.
        self.batch_size = int(batch)
        self._session = session
        self._name = name
        self._shuffle = bool(shuffle)
        self._drop_last = bool(drop_last)
        self._seed = (session.seed if seed is None else int(seed)) & 0xFFFF_FFFF_FFFF_FFFF
        self._workers = session.size
        self._order: Optional[tuple[int, Indices]] = None  # of an epoch
        self._epoch, self._next = self._kept_position()
        self._current = (self._epoch, self._next)
        if self.steps == 0:
            raise InvalidArgumentError(f"{self.length} samples are less than a batch of {self.batch_size} for each of "
                                       f"{self._workers} workers, and drop_last leaves none")

    @property
    def epoch(self) -> int:
        """How often all samples have been handed out; the epoch under way, from 0."""
        return self._epoch

    @property
    def step(self) -> int:
        """How many batches of this epoch have been handed out."""
        return self._next

    @property
    def steps(self) -> int:
        """Batches of an epoch, the same for every worker. The last one may be smaller, or empty for some workers; with
        `drop_last` it is left out."""
        if self._drop_last:
            return self.length // self._workers // self.batch_size
        share = -(-self.length // self._workers)
        return -(-share // self.batch_size)

    def __len__(self) -> int:
        return self.steps

    @property
    def rng(self) -> np.random.Generator:
        """A generator for the batch handed out last: for augmentations, dropout and the like. It follows from seed,
        rank, epoch and step, so that a process that repeats the batch draws the same."""
        epoch, step = self._current
        return _generator(self._seed, self._session.rank + 1, epoch, step)

    def __iter__(self) -> Iterator[Indices]:
        while self._next < self.steps:
            indices = self._indices(self._epoch, self._next)
            self._hand_out()
            yield indices
        self._begin_epoch()

    def _begin_epoch(self) -> None:
        self._epoch, self._next = self._epoch + 1, 0

    def _hand_out(self) -> None:
        """The next batch counts from the end of this clock on."""
        self._current = (self._epoch, self._next)
        after = self._next + 1
        self._keep(*((self._epoch, after) if after < self.steps else (self._epoch + 1, 0)))
        self._next = after

    def _indices(self, epoch: int, step: int) -> Indices:
        """The samples of a batch: every worker has its share of one order of all."""
        first = step * self.batch_size
        share = self._order_of(epoch)[self._session.rank::self._workers]
        return share[first:first + self.batch_size]

    def _order_of(self, epoch: int) -> Indices:
        if self._order is None or self._order[0] != epoch:
            order: Indices = np.arange(self.length, dtype=np.int64)
            if self._shuffle:
                _generator(self._seed, 0, epoch, 0).shuffle(order)
            order.flags.writeable = False
            self._order = (epoch, order)
        return self._order[1]

    def _settings(self) -> list[int]:
        return [self.length, self.batch_size, self._seed, self._shuffle, self._drop_last]

    def _keep(self, epoch: int, step: int) -> None:
        self._session.state[self._name] = np.array([epoch, step, self._workers, *self._settings()], dtype=np.uint64)

    def _kept_position(self) -> tuple[int, int]:
        kept = self._session.state.get(self._name)
        if kept is None:
            self._keep(0, 0)
            return 0, 0
        if not isinstance(kept, np.ndarray) or kept.shape != (3 + len(self._settings()),):
            raise InvalidArgumentError(f"state '{self._name}' is not a sampler's; give the sampler another name")
        found = [int(number) for number in kept]
        if found[3:] != [int(number) for number in self._settings()]:
            raise InvalidArgumentError(
                f"sampler '{self._name}' goes on with other data or options than the process before it: length, batch, "
                f"seed, shuffle, drop_last were {found[3:]} and are {self._settings()}")
        # Shares stay as they were when the worker began, also where their number has changed since.
        self._workers = found[2]
        return found[0], found[1]


def _generator(seed: int, stream: int, epoch: int, step: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=np.array([seed, stream], dtype=np.uint64),
                                                counter=np.array([0, 0, step, epoch], dtype=np.uint64)))


def sampler(dataset: Union[int, Sized], session: "Session", *, batch: int, seed: Optional[int] = None,
            shuffle: bool = True, drop_last: bool = False, name: str = "sampler") -> Sampler:
    """Returns the batches of indices that this worker trains on, which go on where a process before it has died.

    `dataset`: anything with a length, or the length. In an epoch each sample is in one batch of one worker. The order is
    another one in each epoch, and the same for all workers: it follows from `seed` (the job's without it). `batch`:
    samples of a batch, of this worker. `name`: of its state; two samplers need two. Raises InvalidArgumentError,
    UnavailableError where the worker's state is lost or cannot be kept (:class:`tidegate.State`), OutOfOrderError where
    a push of this clock has left. Make it before the first push, with the same number of workers from beginning to end:
    after ``tidegate scale`` samples of the epoch may be missed, or seen twice.
    """
    length: Any = dataset if isinstance(dataset, (int, np.integer)) else len(dataset)
    return Sampler(length, session, batch=batch, seed=seed, shuffle=shuffle, drop_last=drop_last, name=name)
