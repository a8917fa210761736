"""Horovod's names, over tables. A call that all workers make at the same point takes one clock or two.

What Horovod names after a call's tensor is named by the order of calls here: all workers make the same calls, in the
same order, with the same shapes.
"""

from __future__ import annotations

import io
import os
from typing import Any, Iterable, Mapping, Optional, Union

import numpy as np
import torch

from .._options import assign
from .._session import Session
from .._table import Table
from ..errors import InvalidArgumentError
from ._process import open_session, required_session, session_of_process

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
    _scratch_of(session_of_process())


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

    For metrics and the like: it takes a clock for every 64 KiB. Under policies other than bsp all workers wait for each
    other, too.
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

    DistributedOptimizer does so itself with worker 0's parameters.
    """
    items = sorted(params.items()) if isinstance(params, Mapping) else list(params)
    tensors = {name: value.detach() for name, value in items if isinstance(value, torch.Tensor)}
    sent = broadcast_object({name: t.clone() for name, t in tensors.items()}, root_rank)
    with torch.no_grad():
        for name, tensor in tensors.items():
            if name not in sent or sent[name].shape != tensor.shape:
                raise InvalidArgumentError(f"'{name}' is {tuple(tensor.shape)} here and another tensor on worker "
                                           f"{root_rank}")
            tensor.copy_(sent[name])


def broadcast_optimizer_state(optimizer: torch.optim.Optimizer, root_rank: int = 0) -> None:
    """Sets a torch optimizer's state to that of worker `root_rank`. All workers call it."""
    state = broadcast_object(optimizer.state_dict(), root_rank)
    if required_session().rank != root_rank:
        optimizer.load_state_dict(state)


def _scratch_of(s: Session) -> Table:
    return s.table(_SCRATCH, _SCRATCH_ELEMENTS, optimizer=assign())


def _reduced(s: Session, values: Optional[np.ndarray[Any, Any]], count: int) -> np.ndarray[Any, Any]:
    """One clock: returns what `count` values that workers give come to, by the job's rule. None gives nothing."""
    scratch = _scratch_of(s)
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
