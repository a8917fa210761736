"""Filters of rows, which a worker puts between what it computes and what it pushes or pulls, so that less travels: the
user-defined filters of Li et al., "Scaling Distributed Machine Learning with the Parameter Server" (OSDI 2014, sections
3.7 and 5.1).

::

    with tidegate.session() as s:
        w = s.rows("w", 1, optimizer=tidegate.proximal(1.0, l1=1e-4), init=0.0)
        kkt = tidegate.filters.KktFilter(1, l1=1e-4)
        while s.now < clocks:
            ids = features_of(s.rank, s.now)
            values = w.pull(ids)
            w.push(*kkt.rows(ids, values, gradients_of(ids, values)))
            s.clock()

They are those of C++ (tidegate/filters.hpp), with the same bits. What a filter lets through follows from the arguments of
its calls and its options alone. A worker that may die sets ``s.state[name] = filter.save()`` in each clock in which it
calls the filter; the process in its place calls ``filter.restore(s.state[name])`` and goes on with the same bits.

A filter belongs to one thread at a time. Arrays that calls return are the caller's. Ids are integers of any shape from 0 to
2**64 - 1, values and gradients arrays of float32 of shape ``(*ids.shape, dim)``; what is returned has one axis of ids. All
calls raise InvalidArgumentError for arguments of other types, shapes or bounds, and change nothing then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
from numpy.typing import NDArray

from . import _native
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from ._rows import RowTable

Ids = NDArray[np.uint64]
Floats = NDArray[np.float32]


Saved = Union[_native.KktFilter, _native.SignificantFilter, _native.PullFilter]


class _Filter:
    """What all filters have."""

    def __init__(self, dim: int, saved: Saved) -> None:
        #: Values of a row.
        self.dim = dim
        self._saved = saved

    @property
    def seen(self) -> int:
        """How many rows have come in all calls."""
        return self._saved.seen

    @property
    def kept(self) -> int:
        """How many of them were let through."""
        return self._saved.kept

    def save(self) -> bytes:
        """Returns the state of the filter, for ``Session.state`` and :meth:`restore`."""
        return self._saved.save()

    def restore(self, state: Any) -> None:
        """Takes the state that a filter of this kind and `dim` had. Raises InvalidArgumentError for other bytes."""
        if not isinstance(state, bytes):
            raise InvalidArgumentError(f"state of a filter is {type(state).__name__}; allowed: the bytes that save() returned")
        self._saved.restore(state)


class KktFilter(_Filter):
    """Drops what an L1-regularized problem leaves at 0: elements that satisfy its Karush-Kuhn-Tucker conditions, ``w == 0
    and abs(g) <= l1 - slack - slack_share * violation``.

    For the gradient of the whole objective the proximal step would leave such an element at 0, so nothing is lost. A
    worker has that of its own samples, which estimates it: it may drop what others push, and counts there as a gradient
    of 0. A slack makes that rarer. A NaN is never dropped.

    `l1`, `l2`: those of the table's optimizer. `slack_share`: of the largest violation of the pass before, which
    :meth:`end_pass` ends (as Yuan et al., JMLR 2010, shrink L1 problems); nothing is dropped before the first.
    `gap`: :meth:`ranges` keeps what it would drop between two kept elements no further apart than this.
    """

    def __init__(self, dim: int = 1, *, l1: float, l2: float = 0.0, slack: float = 0.0, slack_share: float = 0.0,
                 gap: int = 0) -> None:
        self._native = _native.KktFilter.create(
            _count("dim", dim, 32), _number("l1", l1), _number("l2", l2), _number("slack", slack),
            _number("slack_share", slack_share), _count("gap", gap, 64, 0))
        super().__init__(int(dim), self._native)

    def rows(self, ids: Any, values: Any, gradients: Any) -> tuple[Ids, Floats]:
        """Returns the ids that are left, in their order, and their gradients: rows of which an element violates the
        conditions. `values`: as pulled. `gradients`: of the loss alone."""
        flat = _flat_ids(ids)
        return self._native.rows(flat, _floats("values", values, (*np.shape(ids), self.dim)),
                                 _floats("gradients", gradients, (*np.shape(ids), self.dim)), self.dim)

    def ranges(self, ranges: Any, values: Any, gradients: Any) -> tuple[list[tuple[int, int]], Floats]:
        """Returns the ranges of a dense table that are left, and the gradients of their elements one after the other, as
        ``table.push(gradients, ranges=ranges)`` takes them for a table of one dimension.

        `ranges`: pairs [first, last) of elements, ascending. `values`, `gradients`: of all their elements, one after the
        other, of shape ``(elements,)``."""
        bounds = _flat_ids(ranges)
        if bounds.size > 0 and np.shape(ranges)[1:] != (2,):
            raise InvalidArgumentError(f"ranges have shape {np.shape(ranges)}; allowed: pairs of first and last")
        elements = np.shape(values)
        left, kept = self._native.ranges(bounds.reshape(-1, 2), _floats("values", values, elements),
                                         _floats("gradients", gradients, elements))
        return [(int(first), int(last)) for first, last in left], kept

    def end_pass(self) -> None:
        """Ends a pass over the problem: `slack_share` is from now on of the largest violation since the pass before."""
        self._native.end_pass()

    @property
    def threshold(self) -> float:
        """The bound of ``abs(g)`` in the calls to come; below 0 nothing is dropped."""
        return self._native.threshold

    @property
    def violation(self) -> float:
        """How far elements were from satisfying the conditions at most, since the last :meth:`end_pass`."""
        return self._native.violation


class SignificantFilter(_Filter):
    """Holds gradients back that change little: adds up those of each row, and lets the sum through when its largest
    magnitude is above ``threshold + relative * abs(values).max()`` (Li et al., section 3.7).

    `rows_max`: rows held at most, up to 2**28; a row that finds no room is let through. Under an optimizer that is linear
    in the gradient, as :func:`tidegate.sgd`, a late sum moves a row as far as its parts would have.
    """

    def __init__(self, dim: int = 1, *, threshold: float = 0.0, relative: float = 0.0, rows_max: int = 2**20) -> None:
        self.relative = _number("relative", relative)
        self._native = _native.SignificantFilter.create(
            _count("dim", dim, 32), _number("threshold", threshold), self.relative, _count("rows_max", rows_max, 64))
        super().__init__(int(dim), self._native)

    def add(self, ids: Any, gradients: Any, values: Optional[Any] = None) -> tuple[Ids, Floats]:
        """Adds gradients to what is held, and returns rows of these ids whose sums are large enough, each once, with their
        sums. `values`: as pulled; only where `relative` is above 0."""
        flat = _flat_ids(ids)
        shape = (*np.shape(ids), self.dim)
        if (values is None) != (self.relative == 0):
            raise InvalidArgumentError(f"values are {'missing' if values is None else 'given'} where relative is "
                                       f"{self.relative}; allowed: values where it is above 0")
        compared = np.empty(0, np.float32) if values is None else _floats("values", values, shape)
        return self._native.add(flat, _floats("gradients", gradients, shape), compared, self.dim)

    def flush(self) -> tuple[Ids, Floats]:
        """Returns all that is held, ascending by id, and holds nothing then."""
        return self._native.flush(self.dim)

    @property
    def held(self) -> int:
        """Rows that are held."""
        return self._native.held


class PullFilter(_Filter):
    """Leaves rows out of pulls that have not changed of late. It keeps the last values of each row; a row that a pull finds
    as it was, within `epsilon`, rests for `rest` clocks, unless this worker pushes it.

    `initial`: what every row has before it is pushed, as `init` of its table; the first pull of a row is compared with it.
    So what others have done to a row is seen up to `rest` clocks later than the policy says. `rows_max`: rows kept at most,
    up to 2**28; more raise OverLimitError.
    """

    def __init__(self, dim: int = 1, *, rest: int, epsilon: float = 0.0, initial: Optional[float] = None,
                 rows_max: int = 2**22) -> None:
        self._native = _native.PullFilter.create(
            _count("dim", dim, 32), _number("epsilon", epsilon), _count("rest", rest, 64), _count("rows_max", rows_max, 64),
            None if initial is None else _number("initial", initial))
        super().__init__(int(dim), self._native)

    def pull(self, table: "RowTable", ids: Any, clock: int) -> Floats:
        """Returns the rows of these ids, ``(*ids.shape, dim)``: pulls those that do not rest at this clock, and has the
        others from before. Raises what ``table.pull`` does."""
        wanted = self.wanted(clock, ids)
        self.store(table.pull(wanted))
        return self.gather(ids)

    def wanted(self, clock: int, ids: Any) -> Ids:
        """Returns those of these ids that have to be pulled at this clock, each once; :meth:`store` takes their values."""
        return self._native.wanted(_count("clock", clock, 64, 0), _flat_ids(ids))

    def store(self, values: Any) -> None:
        """Takes in what a pull of the ids of the last :meth:`wanted` has found. Raises OutOfOrderError without that."""
        self._native.store(_floats("values", values, np.shape(values)))

    def gather(self, ids: Any) -> Floats:
        """Returns the last values of these ids. Raises NotFoundError (one was never pulled)."""
        out = np.empty((*np.shape(ids), self.dim), np.float32)
        self._native.gather(_flat_ids(ids), out.reshape(-1))
        return out

    def pushed(self, ids: Any) -> None:
        """Ends the rest of rows that this worker pushes."""
        self._native.pushed(_flat_ids(ids))

    @property
    def held(self) -> int:
        """Rows that are kept."""
        return self._native.held


def _flat_ids(ids: Any) -> Ids:
    given = np.asarray(ids)
    if given.size == 0:
        return np.empty(0, np.uint64)
    if given.dtype.kind not in "iu" or given.min() < 0:
        raise InvalidArgumentError(f"ids are {given.dtype} from {given.min()}; allowed: integers from 0 to 2**64 - 1")
    return np.ascontiguousarray(given, np.uint64).reshape(-1)


def _floats(role: str, values: Any, shape: tuple[int, ...]) -> Floats:
    if not isinstance(values, np.ndarray) or values.dtype != np.float32:
        kind = values.dtype if isinstance(values, np.ndarray) else type(values).__name__
        raise InvalidArgumentError(f"{role} are {kind}; allowed: a numpy array of float32")
    if values.shape != shape:
        raise InvalidArgumentError(f"{role} have shape {values.shape}; allowed: {shape}")
    return np.ascontiguousarray(values).reshape(-1)


def _number(role: str, number: Any) -> float:
    if isinstance(number, bool) or not isinstance(number, (int, float, np.integer, np.floating)):
        raise InvalidArgumentError(f"{role} of a filter is {number!r}; allowed: numbers")
    return float(number)


def _count(role: str, number: Any, bits: int, least: int = 1) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or not least <= number < 2**bits:
        raise InvalidArgumentError(f"{role} of a filter is {number!r}; allowed: whole numbers from {least}")
    return int(number)
