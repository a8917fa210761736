"""Views of windows: arrays that say so when they are used after their time.

The memory of a gradient or of parameters belongs to the cluster, and shows other bytes from one clock to the next.
numpy has no array that can end, so a view is an object around one. It takes part in numpy's functions and operators
without a copy, and asks each time whether its window is still what it was. What would outlive it is a copy:
``numpy.asarray(view)``, ``pickle``, fancy indexing.
"""

from __future__ import annotations

import os
from typing import Any, Iterator, Optional

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .errors import InvalidViewError, OutOfOrderError

Array = np.ndarray[Any, Any]

# What would hand out the memory behind a view's back.
_WITHHELD = frozenset({"base", "ctypes", "data", "flat", "getfield", "resize", "setflags", "view"})


class Lease:
    """How long the views of one window are valid. Ended once, with the reason."""

    __slots__ = ("name", "process", "reason")

    def __init__(self, name: str) -> None:
        self.name = name
        self.process = os.getpid()
        self.reason: Optional[str] = None

    def end(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason

    def check(self) -> None:
        if self.reason is not None:
            raise InvalidViewError(f"this view of {self.name} is no longer valid: {self.reason}. "
                                   f"Take {self.name} anew, or copy what is to be kept")
        if os.getpid() != self.process:
            raise OutOfOrderError(f"this process was forked from a worker, and a view of {self.name} stays with the "
                                  f"worker (process {self.process})")


class View(NDArrayOperatorsMixin):
    """A float32 array in memory that is shared with the cluster; valid as long as its table says.

    It has numpy's operators, functions and methods. Slices and reshapes of it are views that end with it; whatever
    else it yields is an ordinary array. Use after its end raises :class:`InvalidViewError`.
    """

    __slots__ = ("_lease", "_array")

    def __init__(self, lease: Lease, array: Array) -> None:
        self._lease = lease
        self._array = array

    def _valid(self) -> Array:
        self._lease.check()
        return self._array

    @property
    def is_valid(self) -> bool:
        """Whether the view may still be used."""
        return self._lease.reason is None and os.getpid() == self._lease.process

    # What a view is does not end with it.
    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._array.shape)

    @property
    def dtype(self) -> np.dtype[np.float32]:
        return np.dtype(np.float32)

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def size(self) -> int:
        return self._array.size

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        return _wrapped(self._valid()[_unwrapped(key)], [self])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._valid()[_unwrapped(key)] = _unwrapped(value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in _WITHHELD:
            raise AttributeError(f"a view has no {name!r}; numpy.asarray(view) is a copy that has")
        found = getattr(self._valid(), name)
        if not callable(found):
            return _wrapped(found, [self])

        def method(*args: Any, **kwargs: Any) -> Any:
            views: list[View] = [self]
            array = self._valid()
            outcome = getattr(array, name)(*(_unwrapped(a, views) for a in args),
                                           **{k: _unwrapped(v, views) for k, v in kwargs.items()})
            return _wrapped(outcome, views)

        return method

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Array:
        if copy is False:
            raise ValueError(f"an array of {self._lease.name} that is no copy would outlive its window; "
                             "use the view itself, or copy")
        return np.array(self._valid(), dtype=dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if out is not None:
            kwargs["out"] = tuple(_unwrapped(o) for o in out)
        outcome = getattr(ufunc, method)(*(_unwrapped(i) for i in inputs), **kwargs)
        # What was written to a view is that view.
        if out is None:
            return outcome
        if not isinstance(outcome, tuple):
            return out[0]
        return tuple(array if given is None else given for array, given in zip(outcome, out))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        views: list[View] = []
        outcome = func(*_unwrapped(args, views), **_unwrapped(kwargs, views))
        return _wrapped(outcome, views)

    def __repr__(self) -> str:
        if not self.is_valid:
            return f"<view of {self._lease.name}, no longer valid>"
        return "View" + repr(self._array)[len("array"):]

    def __str__(self) -> str:
        return str(self._valid())

    def __format__(self, spec: str) -> str:
        return format(self._valid() if self.ndim else self._valid()[()], spec)

    def __float__(self) -> float:
        return float(self._valid())

    def __int__(self) -> int:
        return int(self._valid())

    def __bool__(self) -> bool:
        return bool(self._valid())

    def __contains__(self, value: Any) -> bool:
        return value in self._valid()

    def __reduce__(self) -> Any:
        return np.array, (np.array(self._valid()),)


def _unwrapped(value: Any, views: Optional[list[View]] = None) -> Any:
    """Returns `value` with the arrays of the views in it in their place, and adds those to `views`."""
    if isinstance(value, View):
        if views is not None:
            views.append(value)
        return value._valid()
    if isinstance(value, (tuple, list)) and any(isinstance(v, (View, tuple, list)) for v in value):
        inner = [_unwrapped(v, views) for v in value]
        return type(value)(inner) if type(value) in (tuple, list) else inner
    if isinstance(value, dict):
        return {k: _unwrapped(v, views) for k, v in value.items()}
    return value


def _wrapped(value: Any, views: list[View]) -> Any:
    """Returns `value` with what lies in the memory of one of `views` as a view that ends with it."""
    if isinstance(value, np.ndarray):
        for view in views:
            if value is view._array:
                return view
            if value.base is not None and np.may_share_memory(value, view._array):
                return View(view._lease, value)
        return value
    if isinstance(value, (tuple, list)):
        inner = [_wrapped(v, views) for v in value]
        return type(value)(inner) if type(value) in (tuple, list) else value
    return value
