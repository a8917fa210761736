"""Arrays in memory of a device: for torch, cupy and others, not for numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _native
from ._view import Array, Lease
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from ._table import Table

# As of DLPack: kDLCUDA.
_DLPACK_CUDA = 2


class DeviceArray:
    """A float32 array of a table's shape in memory of its session's device; valid as long as its table says.

    Libraries that compute on CUDA devices take it without a copy: ``torch.from_dlpack(array)``, ``cupy.asarray(array)``
    (``__dlpack__``, ``__cuda_array_interface__``). What they make of it must not be used after its end, of which they
    do not know. ``array.numpy()`` is a copy on the host, and ``array[...] = values`` a copy from there. Use after its
    end raises :class:`InvalidViewError`.
    """

    __slots__ = ("_lease", "_native", "_address", "_is_written", "shape", "device")

    def __init__(self, lease: Lease, native: _native.DeviceCalls, address: int, is_written: bool, shape: tuple[int, ...],
                 device: str) -> None:
        self._lease = lease
        self._native = native
        self._address = address
        self._is_written = is_written
        #: Sizes of the array.
        self.shape = shape
        #: ``"cuda:0"`` and the like.
        self.device = device

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """float32."""
        return np.dtype(np.float32)

    @property
    def size(self) -> int:
        """Elements of the array."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def is_valid(self) -> bool:
        """Whether the array may still be used."""
        return self._lease.reason is None

    def numpy(self) -> Array:
        """Returns a copy on the host, of what all work has written that was queued on the session's stream."""
        self._lease.check()
        out = np.empty(self.size, dtype=np.float32)
        self._native.copy_out(self._address, out)
        return out.reshape(self.shape)

    def __setitem__(self, key: Any, values: Any) -> None:
        if key is not Ellipsis:
            raise InvalidArgumentError(f"{self._lease.name} is on a device, and set as a whole: [...] = values")
        if not self._is_written:
            raise InvalidArgumentError(f"{self._lease.name} is for reading alone")
        self._lease.check()
        whole = np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=np.float32), self.shape))
        self._native.copy_in(self._address, whole.reshape(-1))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not self.device.startswith("cuda:"):
            raise AttributeError(f"memory of {self.device} is not CUDA's")
        self._lease.check()
        return {"shape": self.shape, "typestr": "<f4", "data": (self._address, not self._is_written), "version": 3}

    def __dlpack_device__(self) -> tuple[int, int]:
        backend, _, index = self.device.partition(":")
        if backend != "cuda":
            raise BufferError(f"memory of {self.device} is not CUDA's")
        return (_DLPACK_CUDA, int(index))

    def __dlpack__(self, *, stream: Optional[int] = None, **_: Any) -> Any:
        # A pull has ended, and a gradient has no content yet: there is nothing that `stream` would wait for.
        index = self.__dlpack_device__()[1]
        self._lease.check()
        return self._native.tensor(self._address, list(self.shape), index)

    def __repr__(self) -> str:
        return f"<{self._lease.name} {self.shape} on {self.device}>"


def is_on_device(array: Any) -> bool:
    """Returns True for an array of a CUDA library, as of torch or cupy, and for a DeviceArray."""
    return isinstance(array, DeviceArray) or hasattr(array, "__cuda_array_interface__")


def address_of(array: Any, table: "Table", role: str, is_written: bool) -> int:
    """Returns where an array of a CUDA library begins. Raises InvalidArgumentError unless it fits the table."""
    if isinstance(array, DeviceArray):
        array._lease.check()
        if array.shape != table.shape:
            raise InvalidArgumentError(f"{role} of table '{table.name}' has shape {array.shape}; the table has {table.shape}")
        if is_written and not array._is_written:
            raise InvalidArgumentError(f"{role} of table '{table.name}' is read-only")
        return array._address
    about = array.__cuda_array_interface__
    if tuple(about["shape"]) != table.shape:
        raise InvalidArgumentError(f"{role} of table '{table.name}' has shape {tuple(about['shape'])}; the table has "
                                   f"{table.shape}")
    if about["typestr"] not in ("<f4", "=f4"):
        raise InvalidArgumentError(f"{role} of table '{table.name}' is {about['typestr']}; tables are float32")
    contiguous = tuple(4 * int(np.prod(table.shape[i + 1:], dtype=np.int64)) for i in range(len(table.shape)))
    if about.get("strides") is not None and tuple(about["strides"]) != contiguous:
        raise InvalidArgumentError(f"{role} of table '{table.name}' is not contiguous")
    address, read_only = about["data"]
    if is_written and read_only:
        raise InvalidArgumentError(f"{role} of table '{table.name}' is read-only")
    return int(address)
