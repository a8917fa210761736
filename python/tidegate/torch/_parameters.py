"""Parameters of a DistributedOptimizer: the tables that they are, and what they must be."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, Iterable, Optional

import torch

from .._session import Session
from .._table import Table
from ..errors import InvalidArgumentError

NamedParameters = Iterable[tuple[str, torch.nn.Parameter]]

# What float32 holds exactly. Sums are float32 in any case.
_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


@dataclasses.dataclass(eq=False)
class Entry:
    """A parameter, and the table that it is."""

    name: str
    parameter: torch.nn.Parameter
    table: Table
    shape: torch.Size
    dtype: torch.dtype
    device: torch.device
    bucket: "Bucket"
    passes: int = 0  # backward passes since the last step
    staged: bool = False  # its gradient is where it is pushed from


@dataclasses.dataclass(eq=False)
class Bucket:
    """Parameters whose gradients are pushed together, as soon as all are there."""

    entries: list[Entry] = dataclasses.field(default_factory=list)
    bytes: int = 0
    waits_for: int = 0
    is_pushed: bool = False


def tensor_of(array: Any) -> torch.Tensor:
    """Returns the array, which is read-only, as a tensor; torch has none that says so, and warns once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return torch.from_numpy(array)


def check_in_place(inner: Optional[torch.optim.Optimizer], session: Session,
                    named: list[tuple[str, torch.nn.Parameter]]) -> None:
    if inner is not None:
        raise InvalidArgumentError("in_place=True is for parameters that shards step; a torch optimizer writes to them")
    if session.policy != "bsp":
        raise InvalidArgumentError(f"in_place=True needs a version that stays until the next step; the job's policy is "
                                   f"{session.policy}, and must be bsp")
    for name, parameter in named:
        if parameter.dtype != torch.float32:
            raise InvalidArgumentError(f"in_place=True: parameter '{name}' is {parameter.dtype}; shards keep float32")


def named_of(inner: Optional[torch.optim.Optimizer], given: Optional[NamedParameters]) -> list[tuple[str, Any]]:
    """Returns the parameters with their names; all that a torch optimizer steps must be there."""
    if given is not None:
        named = list(given)
    elif inner is not None:
        named = [(f"parameter.{g}.{i}", p) for g, group in enumerate(inner.param_groups)
                 for i, p in enumerate(group["params"])]
    else:
        raise InvalidArgumentError("named_parameters is missing; give model.named_parameters()")
    known = {id(parameter) for _, parameter in named}
    for group in inner.param_groups if inner is not None else ():
        for parameter in group["params"]:
            if id(parameter) not in known:
                raise InvalidArgumentError(f"the torch optimizer has a parameter of shape {tuple(parameter.shape)} that "
                                           "named_parameters has not; it would be stepped by this worker's gradient alone")
    return named


def check_parameters(named: list[tuple[str, torch.nn.Parameter]]) -> None:
    if not named:
        raise InvalidArgumentError("named_parameters is empty; give model.named_parameters()")
    names = set()
    for name, parameter in named:
        if not isinstance(parameter, torch.Tensor):
            raise InvalidArgumentError(f"parameter '{name}' is a {type(parameter).__name__}; it must be a tensor")
        if name in names:
            raise InvalidArgumentError(f"two parameters are named '{name}'")
        names.add(name)
        if parameter.dtype not in _DTYPES:
            raise InvalidArgumentError(f"parameter '{name}' is {parameter.dtype}; allowed: float32, float16, bfloat16")
        if parameter.device.type not in ("cpu", "cuda"):
            raise InvalidArgumentError(f"parameter '{name}' is on {parameter.device}; allowed: cpu, cuda")
        if parameter.device != named[0][1].device:
            raise InvalidArgumentError(f"parameter '{name}' is on {parameter.device}, and '{named[0][0]}' on "
                                       f"{named[0][1].device}; all must be on one device")
        if parameter.layout != torch.strided:
            raise InvalidArgumentError(f"parameter '{name}' has layout {parameter.layout}; allowed: strided")
        if parameter.numel() == 0:
            raise InvalidArgumentError(f"parameter '{name}' has no elements")


def check_entry(entry: Entry, tensor: torch.Tensor) -> None:
    if tensor.shape != entry.shape or entry.parameter.shape != entry.shape:
        raise InvalidArgumentError(f"parameter '{entry.name}' was {tuple(entry.shape)} when its optimizer was made, "
                                   f"and is {tuple(entry.parameter.shape)}, with a gradient of {tuple(tensor.shape)}")
    if tensor.layout != torch.strided:
        raise InvalidArgumentError(f"the gradient of '{entry.name}' has layout {tensor.layout}; allowed: strided (no "
                                   "sparse gradients)")
    if tensor.device != entry.device or entry.parameter.dtype != entry.dtype:
        raise InvalidArgumentError(f"parameter '{entry.name}' was {entry.dtype} on {entry.device} when its optimizer was "
                                   f"made, and is {entry.parameter.dtype} on {tensor.device}")


def device_of(named: list[tuple[str, torch.nn.Parameter]]) -> Optional[str]:
    """Returns the device of checked parameters as a session names it; None: the host."""
    device = named[0][1].device
    if device.type == "cpu":
        return None
    return f"cuda:{device.index if device.index is not None else torch.cuda.current_device()}"


def stream_of(device: torch.device) -> int:
    """Returns the handle of the stream that this thread computes on."""
    return int(torch.cuda.current_stream(device).cuda_stream)


def window_of(table: Table, shape: torch.Size) -> torch.Tensor:
    """Returns where this clock's gradient is pushed from: memory that the session shares with shards."""
    if table.device is None:
        return torch.from_numpy(table._native.gradient(table._table)).view(shape)
    return from_dlpack(table.grad).view(shape)


def value_of(table: Table, shape: torch.Size) -> torch.Tensor:
    """Returns the parameters that the last pull found, where they lie."""
    if table.device is None:
        return tensor_of(table._native.parameters(table._table)).view(shape)
    return from_dlpack(table.value).view(shape)


def from_dlpack(array: Any) -> torch.Tensor:
    # torch asks for `__dlpack__` with the stream that it computes on; nothing has to be waited for.
    tensor: torch.Tensor = torch.from_dlpack(array)
    return tensor
