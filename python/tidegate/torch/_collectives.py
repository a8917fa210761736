"""Horovod's names, over tables. A call that all workers make at the same point takes one clock or more, under bsp.

Names of tensors are not used: all workers make the same calls, in the same order, with the same shapes. Tables can be
opened before the first clock only, so that DistributedOptimizer is made before allreduce and broadcast_object;
broadcasts of parameters and of a torch optimizer's state that come before it are made with it. A process that takes the
place of one that died cannot repeat the calls that the others have behind them; there they raise.
"""

from __future__ import annotations

import io
import os
from typing import Any, Callable, Iterable, Mapping, Optional, Union

import numpy as np
import torch

from .._options import assign
from .._session import Session, open_session, process_session, required_session
from .._table import Table
from ..errors import InvalidArgumentError, OutOfOrderError

# Bytes of a call travel through one table, piece by piece; it is opened before anything else, as tables must be.
_SCRATCH = "tidegate.scratch"
_SCRATCH_ELEMENTS = 1 << 14


class Average:
    """Reduces to the mean."""


class Sum:
    """Reduces to the sum."""


class _NoCompression:
    @staticmethod
    def compress(tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return tensor, None


class _Float16:
    @staticmethod
    def compress(tensor: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return tensor.to(torch.float16), tensor.dtype


class Compression:
    """What gradients are rounded to before they are pushed."""

    none = _NoCompression
    fp16 = _Float16


def init() -> None:
    """Joins the job, unless this process has a session. The session is finished when the program ends well."""
    scratch_of(process_session())


def is_initialized() -> bool:
    """Whether this process has a session."""
    return open_session() is not None


def shutdown() -> None:
    """Finishes this worker's part of the job."""
    known = open_session()
    if known is not None:
        known.finish()


def rank() -> int:
    """This worker's number, from 0."""
    return required_session().rank


def size() -> int:
    """Workers of the job."""
    return required_session().size


def local_rank() -> int:
    """This worker's number among those of its host."""
    return int(os.environ["LOCAL_RANK"])


def local_size() -> int:
    """Workers of the job on this host."""
    return int(os.environ["LOCAL_WORLD_SIZE"])


def allreduce(tensor: torch.Tensor, name: Optional[str] = None, op: Any = Average,
              compression: Any = Compression.none) -> torch.Tensor:
    """Returns the mean (or, with op=Sum, the sum) of the workers' tensors, in float32 arithmetic. All workers call it.

    For metrics and the like: it takes a clock for every 64 KiB.
    """
    s = required_session()
    rounded, _ = compression.compress(tensor)
    flat = rounded.detach().to(torch.float32).reshape(-1).numpy()
    if op not in (Average, Sum):
        raise InvalidArgumentError(f"op is {op!r}; allowed: Average, Sum")
    parts = [_reduced(s, part, part.size) for part in np.split(flat, range(_SCRATCH_ELEMENTS, flat.size, _SCRATCH_ELEMENTS))]
    outcome = np.concatenate(parts)
    if op is Average and s.reduce == "sum":
        outcome /= np.float32(s.size)
    elif op is Sum and s.reduce == "mean":
        outcome *= np.float32(s.size)
    return torch.from_numpy(outcome).reshape(tensor.shape).to(tensor.dtype)


def broadcast_object(obj: Any, root_rank: int = 0, name: Optional[str] = None) -> Any:
    """Returns the object of worker `root_rank`, by way of torch.save. All workers call it."""
    s = required_session()
    data = None
    length = None
    if s.rank == root_rank:
        buffer = io.BytesIO()
        torch.save(obj, buffer)
        data = np.frombuffer(buffer.getvalue(), np.uint8)
        length = np.frombuffer(data.size.to_bytes(8, "little"), np.uint8)
    count = int.from_bytes(_from_root(s, length, 8, root_rank), "little")
    return torch.load(io.BytesIO(_from_root(s, data, count, root_rank)), weights_only=False)


def broadcast_parameters(params: Union[Mapping[str, Any], Iterable[tuple[str, Any]]], root_rank: int = 0) -> None:
    """Sets tensors to those of worker `root_rank`, in place. All workers call it.

    For buffers and the like: DistributedOptimizer hands out worker 0's parameters itself.
    """
    items = sorted(params.items()) if isinstance(params, Mapping) else list(params)
    tensors = {name: value.detach() for name, value in items if isinstance(value, torch.Tensor)}
    _now_or_with_the_optimizer(lambda: _broadcast_tensors(tensors, root_rank))


def _broadcast_tensors(tensors: dict[str, torch.Tensor], root_rank: int) -> None:
    sent = broadcast_object({name: t.clone() for name, t in tensors.items()}, root_rank)
    with torch.no_grad():
        for name, tensor in tensors.items():
            if name not in sent or sent[name].shape != tensor.shape:
                raise InvalidArgumentError(f"'{name}' is {tuple(tensor.shape)} here and another tensor on worker "
                                           f"{root_rank}")
            tensor.copy_(sent[name])


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int = 0) -> None:
    """Sets a torch optimizer's state to that of worker `root_rank`. All workers call it."""

    def broadcast() -> None:
        state = broadcast_object(optimizer.state_dict(), root_rank)
        if required_session().rank != root_rank:
            optimizer.load_state_dict(state)

    _now_or_with_the_optimizer(broadcast)


_put_off: list[Callable[[], None]] = []


def _now_or_with_the_optimizer(call: Callable[[], None]) -> None:
    """Makes a call, or puts it off where it would be the first clock, after which no table can be opened."""
    s = required_session()
    if s.now == 0 and set(s.tables) <= {_SCRATCH}:
        _put_off.append(call)
    else:
        call()


def make_put_off() -> None:
    """Makes the calls that were put off."""
    calls = list(_put_off)
    _put_off.clear()
    for call in calls:
        call()


def scratch_of(s: Session) -> Table:
    """Returns the table that such calls use. Opened before the first clock."""
    return s.table(_SCRATCH, _SCRATCH_ELEMENTS, optimizer=assign())


def _reduced(s: Session, values: Optional[np.ndarray[Any, Any]], count: int) -> np.ndarray[Any, Any]:
    """One clock: returns what `count` values that workers give come to, by the job's rule. None gives nothing."""
    make_put_off()
    if s.policy != "bsp":
        raise InvalidArgumentError(f"calls that all workers make together need bsp; the job's policy is {s.policy}")
    if s.incarnation > 1:
        raise OutOfOrderError(f"this process takes the place of a worker that died (incarnation {s.incarnation}), and the "
                              "others have this call behind them. Make no such call in a job whose workers come back")
    scratch = scratch_of(s)
    if values is not None:
        scratch.grad[:count] = values
        scratch.grad[count:] = 0
        scratch.push()
    s.clock()
    scratch.pull_final()
    return np.array(scratch.value[:count])


def _from_root(s: Session, data: Optional[np.ndarray[Any, Any]], count: int, root_rank: int) -> bytes:
    """Returns `count` bytes of worker `root_rank`. Float32 holds a byte, and its mean with others' nothing, times size."""
    factor = np.float32(s.size if s.reduce == "mean" else 1)
    parts = []
    for first in range(0, count, _SCRATCH_ELEMENTS):
        some = min(_SCRATCH_ELEMENTS, count - first)
        mine = None if data is None else data[first:first + some].astype(np.float32)
        parts.append(np.rint(_reduced(s, mine, some) * factor).astype(np.uint8).tobytes())
    return b"".join(parts)
