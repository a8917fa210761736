"""Tables of a session, and the pushes and pulls of them that are under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

import numpy as np

from . import _native
from ._device import DeviceArray, address_of, is_on_device
from ._options import Optimizer, Pushed, Schedule, Uniform
from ._view import Array, Lease, View
from .errors import InvalidArgumentError, OutOfOrderError

if TYPE_CHECKING:
    from ._session import Session

Shape = Union[int, Sequence[int]]
Init = Union[None, float, Uniform, Pushed]
# Rows [first, last) of a table, ascending: elements of a vector.
Ranges = Union[Sequence[tuple[int, int]], Array]
# What a table was opened with.
Asked = tuple[tuple[int, ...], Optional[Optimizer], Init]


# Two windows of gradients, and the versions of parameters that shards keep.
_ARRAYS_MAX = 16


class Pending:
    """A push or pull that is under way. Dropping it cancels nothing; an error is told by a later call then."""

    __slots__ = ("_operation",)

    def __init__(self, operation: _native.Operation) -> None:
        self._operation = operation

    @property
    def ready(self) -> bool:
        """Whether the operation has ended, well or not."""
        return self._operation.ready()

    def wait(self) -> None:
        """Blocks until the operation has ended, and raises what it failed with. Lets other threads run."""
        self._operation.wait()


def _begun(operation: _native.Operation) -> Pending:
    """Returns the handle of an operation that has begun; raises where it was refused at once."""
    if operation.ready():
        operation.wait()
    return Pending(operation)


class Table:
    """A table of the job: parameters of float32 with an optimizer that the shards run.

    ``name`` and ``shape`` are as opened. :attr:`grad` and :attr:`value` are views of memory that the cluster shares
    with this process; nothing is copied on one host. Of a table that is on a device (``device`` says which; None: on
    the host) they are of :class:`DeviceArray`.
    """

    __slots__ = ("name", "shape", "device", "_asked", "_session", "_native", "_table", "_grad", "_value", "_pushed", "_arrays",
                 "__weakref__")

    def __init__(self, session: "Session", name: str, asked: Asked, table: _native.Table,
                 device: Optional[str] = None) -> None:
        self.name = name
        self.shape = asked[0]
        self.device = device
        self._asked = asked
        self._session = session
        self._native = session._native
        self._table = table
        self._grad: Union[View, DeviceArray, None] = None
        self._value: Union[View, DeviceArray, None] = None
        self._pushed = False  # in this clock
        # Of windows, by whether they are of parameters, and by address: numpy takes longer to make an array than an
        # exchange of a small table takes.
        self._arrays: dict[tuple[bool, int], Array] = {}

    @property
    def size(self) -> int:
        """Elements of the table."""
        return self._table.size

    @property
    def grad(self) -> Any:
        """This clock's gradient, of the table's shape, to be written. Valid until its push, or the end of the clock.

        It holds what an earlier clock left there: write every element. Waits as :meth:`push` does. Raises
        OutOfOrderError between the push and the end of the clock, as shards read it then.
        """
        if self._grad is None:
            if self._pushed:
                raise OutOfOrderError(f"table '{self.name}' has been pushed at this clock; {self.name}.grad is there "
                                      "again after clock()")
            lease = Lease(f"{self.name}.grad")
            if self.device is not None:
                calls = self._session._device_calls
                self._grad = DeviceArray(lease, calls, calls.gradient_at(self._table), True, self.shape, self.device)
            else:
                self._grad = View(lease, self._array(False, self._native.gradient_at(self._table)))
            self._session._touched.add(self)
        self._grad._lease.check()
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is not self._grad:  # what `t.grad += x` assigns
            self.grad[...] = value

    @property
    def value(self) -> Any:
        """The parameters that the last pull found, of the table's shape, read-only.

        Valid until this worker's next pull or push of the table, or the end of its clock. Raises :class:`OutOfOrderError` while there are none.
        """
        if self._value is None:
            home = self._native if self.device is None else self._session._device_calls
            address = home.parameters_at(self._table)
            if address == 0:
                raise OutOfOrderError(f"there are no parameters of table '{self.name}' to read: pull it first, and "
                                      "read them before its next push")
            lease = Lease(f"{self.name}.value")
            if self.device is not None:
                self._value = DeviceArray(lease, self._session._device_calls, address, False, self.shape, self.device)
            else:
                self._value = View(lease, self._array(True, address))
            self._session._touched.add(self)
        self._value._lease.check()
        return self._value

    def _array(self, of_parameters: bool, address: int) -> Array:
        known = self._arrays.get((of_parameters, address))
        if known is None:
            if len(self._arrays) >= _ARRAYS_MAX:  # shards have moved
                self._arrays.clear()
            make = self._native.parameters if of_parameters else self._native.gradient
            known = self._arrays[of_parameters, address] = make(self._table).reshape(self.shape)
        return known

    def push(self, gradient: Optional[Array] = None, *, ranges: Optional[Ranges] = None) -> Pending:
        """Pushes this clock's gradient: what :attr:`grad` holds, or an array of your own (one copy).

        `gradient`: float32, contiguous, of the table's shape; it must not be written until the push is done. For a
        table on a device it may be there, as a tensor of torch (one copy on the device, after what the session's
        stream has been given). Once per table and clock. Waits while pushes of the clock before the last are under way. The result is ready when
        shards have applied the push exactly once. With `ranges`, pairs (first, last) of rows that ascend, only those rows
        are pushed: of :attr:`grad`, or `gradient` is theirs alone, one after the other. A row that no worker pushes in
        a clock keeps its values and its optimizer's state, which takes ``optimizer.for_ranges()``. Raises NotFiniteError, OutOfOrderError, InvalidArgumentError, and
        what earlier pushes failed with.
        """
        if ranges is not None:
            pairs, rows = self._ranges(ranges)
            values = None if gradient is None else self._own(gradient, "gradient", rows)
            begun = _begun(self._native.push_ranges(self._table, pairs, values))
        elif gradient is None:
            begun = _begun(self._native.push(self._table))
        elif self.device is not None and is_on_device(gradient):
            address = address_of(gradient, self, "gradient", False)
            begun = _begun(self._session._device_calls.push_from(self._table, address, gradient))
        else:
            begun = _begun(self._native.push_from(self._table, self._own(gradient, "gradient")))
        self._pushed = True
        self._session._touched.add(self)
        self._end_grad("it was pushed")
        self._end_value("the table was pushed")
        return begun

    def pull(self, out: Optional[Array] = None, *, wait: bool = True,
             ranges: Optional[Ranges] = None) -> Optional[Pending]:
        """Pulls the parameters that the policy allows at this clock, to :attr:`value`, or to `out` (one copy).

        `out`: float32, contiguous, of the table's shape, writable; for a table on a device it may be there. Blocks until they are there; with ``wait=False``
        returns at once, with a :class:`Pending`. With `ranges`, pairs (first, last) of rows that ascend, only those are
        pulled: :attr:`value` has anything in other rows, and `out` has these rows alone, one after the other. Raises
        OutOfOrderError after this clock's push of the table.
        """
        if ranges is not None:
            return self._pull_ranges(ranges, out, wait)
        return self._pull(out, wait, to_the_end=False)

    def pull_final(self, out: Optional[Array] = None, *, wait: bool = True) -> Optional[Pending]:
        """Pulls the parameters with every update of every worker of the clocks before this one.

        Waits until all others have come to this worker's clock or have finished, whatever the policy.
        """
        return self._pull(out, wait, to_the_end=True)

    def call(self, function: str, *arguments: float) -> Union[float, "np.ndarray[Any, np.dtype[np.float64]]"]:
        """Has shards compute a function of the parameters, as a pull of this clock would find them.

        Returns a number, or an array of float64 where the function has several results. Parameters stay where they
        are, and ``value`` as it is. Functions: ``sum``, ``sum_of_magnitudes``, ``sum_of_squares``, ``min``, ``max``,
        ``count_nonzero``, ``count_above(limit)`` (elements of a larger magnitude), ``count_not_finite``. Raises
        :class:`NotFoundError` for another one, :class:`InvalidArgumentError` for other arguments, and what ``pull``
        raises.
        """
        results = self._native.call(self._table, function, [float(a) for a in arguments])
        return results[0] if len(results) == 1 else np.array(results, dtype=np.float64)

    def _pull_ranges(self, ranges: Ranges, out: Optional[Array], wait: bool) -> Optional[Pending]:
        pairs, rows = self._ranges(ranges)
        values = None if out is None else self._output(out, rows)
        self._end_value("the table was pulled anew")
        operation = self._native.pull_ranges(self._table, pairs, values)
        if not wait:
            return _begun(operation)
        operation.wait()
        return None

    def _ranges(self, ranges: Ranges) -> tuple[list[tuple[int, int]], int]:
        """Returns ranges of elements, and how many rows they are of."""
        if len(ranges) == 0:
            return [], 0
        pairs: Any
        try:
            pairs = np.asarray(ranges)
        except ValueError:  # pairs and others
            pairs = np.empty(0)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise InvalidArgumentError(f"ranges of table '{self.name}'; allowed: pairs (first, last) of rows, as "
                                       "[(0, 10), (20, 30)]")
        if pairs.min() < 0 or pairs.max() > self.shape[0]:
            raise InvalidArgumentError(f"ranges of table '{self.name}' reach from {pairs.min()} to {pairs.max()}; its "
                                       f"rows are 0 to {self.shape[0]}")
        pairs = pairs.astype(np.int64)
        width = self.size // self.shape[0]
        rows = int(np.maximum(pairs[:, 1] - pairs[:, 0], 0).sum())
        return [(int(first) * width, int(last) * width) for first, last in pairs], rows

    def _output(self, out: Any, rows: Optional[int] = None) -> Array:
        if isinstance(out, np.ndarray) and not out.flags.writeable:
            raise InvalidArgumentError(f"`out` of a pull of table '{self.name}' is read-only")
        return self._own(out, "out", rows)

    def _pull(self, out: Optional[Array], wait: bool, to_the_end: bool) -> Optional[Pending]:
        if out is None:
            self._end_value("the table was pulled anew")
            operation = self._native.pull(self._table, to_the_end)
        elif self.device is not None and is_on_device(out):
            self._end_value("the table was pulled anew")
            address = address_of(out, self, "out", True)
            operation = self._session._device_calls.pull_into(self._table, address, out, to_the_end)
        else:
            operation = self._native.pull_into(self._table, self._output(out), to_the_end)
        if not wait:
            return _begun(operation)
        operation.wait()
        return None

    def _own(self, array: Any, role: str, rows: Optional[int] = None) -> Array:
        """Returns the elements of an array of the table's shape, or of so many of its rows."""
        shape = self.shape if rows is None else (rows, *self.shape[1:])
        if not isinstance(array, np.ndarray):
            raise InvalidArgumentError(f"{role} of table '{self.name}' is a {type(array).__name__}; it must be a "
                                       "numpy array")
        if array.dtype != np.float32:
            raise InvalidArgumentError(f"{role} of table '{self.name}' is {array.dtype}; tables are float32, and "
                                       "array.astype(numpy.float32) is a copy that is, too")
        if array.shape != shape:
            owner = "the table has" if rows is None else "the ranges have"
            raise InvalidArgumentError(f"{role} of table '{self.name}' has shape {array.shape}; {owner} {shape}")
        if not array.flags.c_contiguous:
            raise InvalidArgumentError(f"{role} of table '{self.name}' is not contiguous; "
                                       "numpy.ascontiguousarray(array) is a copy that is")
        return array.reshape(-1)

    def _end_clock(self, reason: str) -> None:
        self._pushed = False
        self._end_grad(reason)
        self._end_value(reason)

    def _end_session(self) -> None:
        self._end_clock("the session has ended")
        self._arrays.clear()

    def _end_grad(self, reason: str) -> None:
        if self._grad is not None:
            self._grad._lease.end(reason)
            self._grad = None

    def _end_value(self, reason: str) -> None:
        if self._value is not None:
            self._value._lease.end(reason)
            self._value = None

    def __repr__(self) -> str:
        return f"<table '{self.name}' {self.shape}>"


def shape_of(name: str, shape: Shape) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    for size in sizes:
        if not isinstance(size, (int, np.integer)) or isinstance(size, bool) or size < 1:
            raise InvalidArgumentError(f"shape {shape!r} of table '{name}'; allowed: numbers from 1")
    return tuple(int(size) for size in sizes)


def schedule_of(name: str, schedule: Schedule) -> _native.Schedule:
    if not isinstance(schedule, Schedule):
        raise InvalidArgumentError(f"schedule of table '{name}' is a {type(schedule).__name__}; allowed: "
                                   "tidegate.warm_up(...), tidegate.step_decay(...), tidegate.cosine_decay(...)")
    for key in ("warmup", "clocks"):
        value = getattr(schedule, key)
        if value is not None and not 0 <= value < 2**32:
            raise InvalidArgumentError(f"schedule of table '{name}': {key} is {value}; allowed: clocks, below 2**32")
    wanted = _native.Schedule()
    for key in ("kind", "warmup", "clocks", "factor"):
        setattr(wanted, key, getattr(schedule, key))
    return wanted


def optimizer_of(name: str, optimizer: Optimizer) -> _native.Optimizer:
    if not isinstance(optimizer, Optimizer):
        raise InvalidArgumentError(f"optimizer of table '{name}' is a {type(optimizer).__name__}; allowed: "
                                   "tidegate.sgd(...), tidegate.adam(...) and the like")
    wanted = _native.Optimizer()
    wanted.name = optimizer.name
    for key in ("learning_rate", "momentum", "beta1", "beta2", "epsilon", "weight_decay", "clip_value", "lazy", "l1",
                "l2", "beta", "l21", "reduce", "states"):
        setattr(wanted, key, getattr(optimizer, key))
    if optimizer.schedule is not None:
        wanted.schedule = schedule_of(name, optimizer.schedule)
    return wanted


def options_of(name: str, optimizer: Optional[Optimizer],
                init: Init) -> Optional[_native.TableOptions]:
    if optimizer is None and init is None:
        return None
    options = _native.TableOptions()
    if optimizer is not None:
        options.optimizer = optimizer_of(name, optimizer)
    if isinstance(init, Uniform):
        options.init_uniform = init.bound
    elif isinstance(init, Pushed):
        options.init_pushed = True
    elif init is not None:
        options.init_constant = init
    return options
