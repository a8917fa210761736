"""State of a worker that outlives its process."""

from __future__ import annotations

import io
import struct
from typing import Any, Iterator, MutableMapping, Union

import numpy as np

from . import _native
from ._view import Array, View

Value = Union[bytes, str, bool, int, float, Array, np.generic]


class State(MutableMapping[str, Value]):
    """What this worker keeps, by name: a dictionary that outlives its process (``Session.state``).

    Values are bytes, str, bool, int, float and numpy arrays and scalars. Other types raise TypeError; nothing is
    pickled. Each ``clock()`` and ``exchange()`` commits all of it. A process that takes the place of one that died
    finds what belongs to the clock ``Session.now`` where it goes on. Values are copies: arrays that are read are
    read-only, and count again when they are set.

    All uses raise :class:`UnavailableError` where the job has no memory for state (``jobs.*.state.max``), or it did not
    come through, and where the state is :attr:`lost`. Setting raises OverLimitError (more than the job allows) and
    OutOfOrderError (a push of the clock has left, or one was waited for: set state before the first push).
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Session) -> None:
        self._native = _native.StateCalls(native)

    @property
    def lost(self) -> bool:
        """Whether there may have been state, and that of this clock is gone: the job went back to a checkpoint of many
        clocks ago, another launcher goes on with it, or this worker's host was lost with versions that were not copied
        (``jobs.*.state.mirror_every``). :meth:`clear` begins with none, :meth:`use_older` with one of before."""
        return self._native.is_lost()

    @property
    def older(self) -> int | None:
        """The clock of the newest state that was copied before the worker's host was lost, where that of this clock is
        :attr:`lost` for it; None otherwise."""
        return self._native.older()

    def use_older(self) -> int:
        """Goes on with the state of :attr:`older`, and returns its clock: what changed in the clocks since is lost.
        Raises NotFoundError where there is none, and OutOfOrderError as setting does."""
        clock = self._native.older()
        self._native.use_older()
        assert clock is not None
        return clock

    def __getitem__(self, name: str) -> Any:
        kept = self._native.kept(_checked(name))
        if kept is None:
            raise KeyError(name)
        return _decoded(kept)

    def __setitem__(self, name: str, value: Value) -> None:
        self._native.keep(_checked(name), _encoded(name, value))

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._native.forget(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._native.kept(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.names())

    def __len__(self) -> int:
        return len(self._native.names())

    def clear(self) -> None:
        """Keeps nothing any more, and ends that the state is :attr:`lost`."""
        self._native.forget_all()

    def __repr__(self) -> str:
        return "<state, lost>" if self.lost else f"<state of {', '.join(self) or 'nothing'}>"


def _checked(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"a name of state is text, not {name!r}")
    return name


# The first byte of what is kept says its type.
def _encoded(name: str, value: Value) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b"b" + bytes(value)
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, (np.ndarray, np.generic, View)):
        return _encoded_array(name, np.asarray(value), isinstance(value, np.generic))
    if isinstance(value, bool):
        return b"o" + (b"1" if value else b"0")
    if isinstance(value, int):
        return b"i" + str(value).encode()
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    raise TypeError(f"state '{name}' is a {type(value).__name__}; allowed: bytes, str, bool, int, float, and numpy "
                    "arrays. Nothing is pickled: what a program pickles itself, it can keep as bytes")


def _encoded_array(name: str, array: Array, is_scalar: bool) -> bytes:
    if array.dtype.hasobject:
        raise TypeError(f"state '{name}' is an array of Python objects; arrays of numbers, bytes and text can be kept")
    written = io.BytesIO()
    written.write(b"n" if is_scalar else b"a")
    np.save(written, array, allow_pickle=False)
    return written.getvalue()


def _decoded(kept: bytes) -> Value:
    kind, rest = kept[:1], kept[1:]
    if kind == b"b":
        return rest
    if kind == b"s":
        return rest.decode("utf-8", "surrogatepass")
    if kind == b"o":
        return rest == b"1"
    if kind == b"i":
        return int(rest)
    if kind == b"f":
        return float(struct.unpack("<d", rest)[0])
    array: Array = np.load(io.BytesIO(rest), allow_pickle=False)
    if kind == b"n":
        scalar: Value = array[()]
        return scalar
    array.flags.writeable = False
    return array
