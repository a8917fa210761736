"""Tables of rows by 64-bit ids, as embeddings are."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from . import _native
from ._options import Optimizer, Segment, Uniform
from ._table import Pending, _begun, optimizer_of
from ._view import Array
from .errors import InvalidArgumentError

RowInit = Union[None, float, Uniform]
Asked = tuple[Any, ...]  # dim and options, as a table was asked for
Combine = Callable[[Array, Array], Array]


class RowTable:
    """A table of rows of ``dim`` float32, each by an id of 64 bits, with an optimizer that the shards run.

    Within a clock a table takes its pulls one after another, then one push, then ``clock()``. A row is made when it
    is pushed; until then it has its first values, which follow from (seed of the job, table, id, column).
    """

    __slots__ = ("name", "dim", "_asked", "_calls", "_table", "__weakref__")

    def __init__(self, calls: _native.RowCalls, name: str, asked: Asked, table: _native.RowTable) -> None:
        self.name = name
        self.dim = table.dim
        self._asked = asked
        self._calls = calls
        self._table = table

    def pull(self, ids: Any, out: Optional[Array] = None, *, wait: bool = True, final: bool = False) -> Any:
        """Returns the rows of these ids as the policy allows: float32 of shape ``(*ids.shape, dim)``.

        `ids`: integers from 0 to 2**64 - 1, in any order, also more than once. `out`: a C-contiguous array of that
        shape to write to. Without `wait` this returns a :class:`Pending`, and `out`, which must be given, is written
        when it is ready. `final`: with every update of every worker of the clocks before. No row is made. Raises
        InvalidArgumentError, OutOfOrderError, OverLimitError (too many at once), TidegateError.
        """
        flat, shape = self._ids(ids)
        if out is None:
            if not wait:
                raise InvalidArgumentError(f"a pull of table '{self.name}' that is not waited for needs `out`")
            out = np.empty((*shape, self.dim), np.float32)
        operation = self._calls.pull(self._table, flat, self._values(out, shape, "out", True), final)
        if not wait:
            return _begun(operation)
        operation.wait()
        return out

    def push(self, ids: Any, gradients: Any, *, wait: bool = True, combine: Optional[Combine] = None) -> Optional[Pending]:
        """Pushes the gradients of these rows: `gradients` is float32 of shape ``(*ids.shape, dim)``.

        Those of an id that comes more than once become one as the table's ``reduce`` says, else they are summed, in
        their order; or by ``combine(a, b)``, which makes one array of two of shape ``(n, dim)``, as ``np.maximum``
        does: `a` is of what came first. What is given is copied. Without `wait` this returns a :class:`Pending`.
        Raises InvalidArgumentError, NotFiniteError, OutOfOrderError, OverLimitError (too many at once), TidegateError.
        """
        flat, shape = self._ids(ids)
        values = self._values(gradients, shape, "gradients", False)
        if combine is not None:
            flat, values = self._combined(flat, values.reshape(-1, self.dim), combine)
        operation = self._calls.push(self._table, flat, values)
        if not wait:
            return _begun(operation)
        operation.wait()
        return None

    def prefetch(self, ids: Any) -> Pending:
        """Asks for the rows of these ids ahead of the pull that needs them, so that they travel while the program computes.

        A later :meth:`pull` of the same ids is sent what of them has changed since, under every policy. It comes
        before the push of its clock; the push, ``clock()`` and what follows do not wait for it, the next pull of this
        table does. Rows that are read in place, on the host of their shard, are not asked for. `ids`: as of
        :meth:`pull`. The :class:`Pending` need not be waited for. Raises InvalidArgumentError, OutOfOrderError (also
        when the prefetch before is under way), OverLimitError (too many at once), TidegateError.
        """
        flat, _ = self._ids(ids)
        return _begun(self._calls.prefetch(self._table, flat))

    def items(self) -> tuple[Array, Array]:
        """Returns all rows as a pull of this clock finds them: their ids, ascending, and values of shape (rows, dim).

        It takes memory for all of them. Raises OutOfOrderError, TidegateError.
        """
        return self._calls.rows(self._table)

    def call(self, function: str, *arguments: float) -> Union[float, "np.ndarray[Any, np.dtype[np.float64]]"]:
        """Has shards compute a function of all rows that there are, as a pull of this clock would find them.

        Returns a number, or an array of float64 where the function has several results. Functions are those of
        ``Table.call``; of no rows at all a sum is 0 and a minimum infinite. Shards show a function the rows of each part
        ascending by id, so that results do not depend on how many shards there are. Raises NotFoundError (no such
        function), InvalidArgumentError (it refuses these arguments), and what :meth:`pull` raises.
        """
        results = self._calls.call(self._table, function, [float(a) for a in arguments])
        return results[0] if len(results) == 1 else np.array(results, dtype=np.float64)

    def _combined(self, ids: Array, gradients: Array, combine: Combine) -> tuple[Array, Array]:
        """Returns each id once, ascending, and its gradients as one."""
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        first = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1]))) if ids.size else np.empty(0, np.intp)
        counts = np.diff(np.append(first, ids.size))
        rows = gradients[order[first]]
        for number in range(1, int(counts.max(initial=1))):
            more = counts > number
            given = rows[more]
            result = np.asarray(combine(given, gradients[order[first[more] + number]]), np.float32)
            if result.shape != given.shape:
                raise InvalidArgumentError(f"combine of a push to table '{self.name}' has returned shape {result.shape} for two "
                                           f"of {given.shape}; allowed: the same shape")
            rows[more] = result
        return ids[first], np.ascontiguousarray(rows).reshape(-1)

    def _ids(self, ids: Any) -> tuple[Array, tuple[int, ...]]:
        given = np.asarray(ids)
        if given.dtype.kind in "fO" and not isinstance(ids, np.ndarray):
            # What numpy makes of an empty list, and of small and large integers together.
            exact = np.asarray(ids, object)
            if all(isinstance(id, (int, np.integer)) for id in exact.flat):
                given = exact.astype(np.uint64) if all(0 <= id < 2**64 for id in exact.flat) else exact
        if given.dtype.kind not in "iuO":
            raise InvalidArgumentError(f"ids of table '{self.name}' are {given.dtype}; they must be integers")
        if given.dtype.kind in "iO" and given.size > 0 and (given.min() < 0 or given.dtype.kind == "O"):
            raise InvalidArgumentError(f"ids of table '{self.name}' are from {given.min()} to {given.max()}; allowed: 0 "
                                       "to 2**64 - 1")
        return np.ascontiguousarray(given, np.uint64).reshape(-1), given.shape

    def _values(self, values: Any, shape: tuple[int, ...], role: str, is_written: bool) -> Array:
        expected = (*shape, self.dim)
        if not isinstance(values, np.ndarray) or values.dtype != np.float32:
            kind = values.dtype if isinstance(values, np.ndarray) else type(values).__name__
            raise InvalidArgumentError(f"{role} of table '{self.name}' is {kind}; it must be a numpy array of float32")
        if values.shape != expected:
            raise InvalidArgumentError(f"{role} of table '{self.name}' has shape {values.shape}; for these ids it must "
                                       f"have {expected}")
        if is_written and not values.flags.writeable:
            raise InvalidArgumentError(f"`{role}` of a pull of table '{self.name}' is read-only")
        if is_written and not values.flags.c_contiguous:
            raise InvalidArgumentError(f"`{role}` of a pull of table '{self.name}' is not contiguous")
        return np.ascontiguousarray(values).reshape(-1)

    def __repr__(self) -> str:
        return f"<table '{self.name}' of rows of {self.dim}>"


def dim_of(name: str, dim: int) -> int:
    return _count(name, "dim", dim)


def _count(name: str, role: str, number: int, bits: int = 32) -> int:
    """Returns a number that the cluster can be asked for; it says how large one may be."""
    if not isinstance(number, (int, np.integer)) or isinstance(number, bool) or not 1 <= number < 2**bits:
        raise InvalidArgumentError(f"{role} {number!r} of table '{name}'; allowed: whole numbers from 1")
    return int(number)


_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def bytes_of(name: str, memory: Union[None, int, str]) -> Optional[int]:
    """Returns the bytes of a number, or of a text as in a YAML file."""
    if not isinstance(memory, str):
        return memory
    number, unit = memory[:-3], memory[-3:]
    if unit not in _UNITS:
        number, unit = memory, ""
    if not (number.isascii() and number.isdigit()):
        raise InvalidArgumentError(f"memory {memory!r} of table '{name}'; allowed: bytes, plain or with KiB, MiB, GiB")
    return int(number) * _UNITS.get(unit, 1)


def _set_init(options: Union[_native.RowTableOptions, _native.RowSegment], init: RowInit) -> None:
    if isinstance(init, Uniform):
        options.init_uniform = init.bound
    elif init is not None:
        options.init_constant = float(init)


def _segment_of(name: str, segment: Segment) -> _native.RowSegment:
    if not isinstance(segment, Segment):
        raise InvalidArgumentError(f"segment {segment!r} of table '{name}'; allowed: tidegate.Segment")
    native = _native.RowSegment()
    native.columns = _count(name, "columns of a segment", segment.columns)
    native.optimizer = optimizer_of(name, segment.optimizer)
    _set_init(native, segment.init)
    return native


def row_options_of(name: str, optimizer: Optional[Optimizer], init: RowInit, evict_by: Optional[str],
                   segments: Sequence[Segment], **numbers: Optional[int]) -> Optional[_native.RowTableOptions]:
    """Returns options for the cluster, or None where none is given; it says which numbers it takes."""
    if (optimizer is None and init is None and evict_by is None and not segments
            and not any(n is not None for n in numbers.values())):
        return None
    options = _native.RowTableOptions()
    if optimizer is not None:
        options.optimizer = optimizer_of(name, optimizer)
    _set_init(options, init)
    options.segments = [_segment_of(name, segment) for segment in segments]
    if evict_by is not None:
        options.evict_by = str(evict_by)
    for role, number in numbers.items():
        if number is not None:
            setattr(options, role, _count(name, role, number, 32 if role == "parts" else 64))
    return options
