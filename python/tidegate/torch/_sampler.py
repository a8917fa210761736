"""Samples of a torch DataLoader, none lost or seen twice."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Optional, Sized, Union

import torch.utils.data

from .. import data
from .._session import Session, required_session
from ..errors import OutOfOrderError


class Sampler(torch.utils.data.Sampler):
    """A batch sampler for a DataLoader, which goes on where a process before this one has died::

        batches = tidegate.torch.Sampler(dataset, batch=64)
        loader = torch.utils.data.DataLoader(dataset, batch_sampler=batches, num_workers=4)
        while batches.epoch < 10:
            for batch in batches.of(loader):
                if batch is None:        # the last of an epoch may have no samples for this worker
                    optimizer.skip()
                    continue
                ...                      # backward
                optimizer.step()         # ends the clock

    A loader fetches ahead. So a batch counts when :meth:`of` hands it to the program, and not when the loader has asked
    for it; it is used by the clock that ends after that. Options are those of :func:`tidegate.data.sampler`; `session`
    is the process's own unless given. Iterating over the loader itself raises OutOfOrderError.
    """

    def __init__(self, dataset: Union[int, Sized], session: Optional[Session] = None, *, batch: int,
                 seed: Optional[int] = None, shuffle: bool = True, drop_last: bool = False,
                 name: str = "sampler") -> None:
        self._batches = data.sampler(dataset, session or required_session(), batch=batch, seed=seed, shuffle=shuffle,
                                     drop_last=drop_last, name=name)
        self._is_used = False

    @property
    def epoch(self) -> int:
        """How often all samples have been handed out; the epoch under way, from 0."""
        return self._batches.epoch

    @property
    def step(self) -> int:
        """How many batches of this epoch have been handed out."""
        return self._batches.step

    def __len__(self) -> int:
        """Batches that are left of this epoch."""
        return self._batches.steps - self._batches.step

    def __iter__(self) -> Iterator[list[int]]:
        if not self._is_used:
            raise OutOfOrderError("a loader fetches batches ahead, and only those that a step has used may count: "
                                  "iterate over sampler.of(loader), not over the loader")
        return self._left()

    def _left(self) -> Iterator[list[int]]:
        for step in range(self._batches.step, self._batches.steps):
            indices = self._batches._indices(self._batches.epoch, step).tolist()
            if indices:
                yield indices

    def of(self, loader: Iterable[Any]) -> Iterator[Any]:
        """Hands out the batches of a loader that are left of this epoch.

        None stands for a batch without samples, which the last of an epoch may be for some workers: skip() of the
        optimizer, or clock(), ends its clock.
        """
        self._is_used = True
        try:
            fetched = iter(loader)
        finally:
            self._is_used = False
        while self._batches.step < self._batches.steps:
            batch = next(fetched, None)
            self._batches._hand_out()
            yield batch
        self._batches._begin_epoch()
