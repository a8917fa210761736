"""A communication hook of torch's DistributedDataParallel: shards reduce its gradients in place of the process group."""

import dataclasses
import weakref
from typing import Any, Optional

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from .._options import assign
from .._session import Session, process_session
from .._table import Table
from ..errors import InvalidArgumentError, OutOfOrderError
from ._parameters import check_parameters

# One DDP model a session: the hooks of two would end each other's clocks.
_used: "weakref.WeakSet[Session]" = weakref.WeakSet()


@dataclasses.dataclass(eq=False)
class _Reduction:
    """A bucket whose gradients are pushed, and what DDP waits for."""

    parameters: list[torch.Tensor]
    gradients: list[torch.Tensor]  # views of the buffer
    buffer: torch.Tensor
    future: "torch.futures.Future[torch.Tensor]"


class DDPState:
    """What :func:`ddp_hook` needs of a DistributedDataParallel model; made before the session's first clock.

    `model`: the DistributedDataParallel, with parameters of float32, float16 or bfloat16 on the CPU. Each that needs a
    gradient is a table, named as in the model that DDP wraps, behind `prefix`. A table is of a parameter and not of a
    bucket, as DDP cuts other buckets after its first backward pass. `session`: the process's, opened where there is none.

    Raises InvalidArgumentError for a model that is not DDP's, parameters that do not fit, a policy other than bsp, or
    ranks that differ from the process group's; OutOfOrderError after the first clock, in a process that takes the place
    of one that died, and for a second model of the session.
    """

    def __init__(self, model: DistributedDataParallel, *, session: Optional[Session] = None, prefix: str = "") -> None:
        if not isinstance(model, DistributedDataParallel):
            raise InvalidArgumentError(f"the model is a {type(model).__name__}; it must be a "
                                       "torch.nn.parallel.DistributedDataParallel. Without one, use DistributedOptimizer")
        named = [(name, p) for name, p in model.module.named_parameters() if p.requires_grad]
        check_parameters(named)
        self._session = session if session is not None else process_session()
        _check_session(self._session, model)
        self._divisor = self._session.size if self._session.reduce == "sum" else 1
        self._tables: dict[int, Table] = {id(p): self._session.table(prefix + name, tuple(p.shape), optimizer=assign())
                                          for name, p in named}
        self._parameters = [p for _, p in named]  # alive, so that their ids stay theirs
        self._begun: list[_Reduction] = []
        _used.add(self._session)

    @property
    def session(self) -> Session:
        """The session of this worker."""
        return self._session

    def reduce(self, bucket: dist.GradBucket) -> "torch.futures.Future[torch.Tensor]":
        """Pushes a bucket's gradients. The last bucket of a backward pass ends the clock, and takes the means in."""
        reduction = _Reduction(bucket.parameters(), bucket.gradients(), bucket.buffer(), torch.futures.Future())
        if bucket.index() == 0 and self._begun:
            raise OutOfOrderError("a backward pass was ended by an exception after some gradients had been pushed; the "
                                  "clock cannot be repeated, so let the program end")
        tables = [self._table_of(parameter) for parameter in reduction.parameters]
        self._begun.append(reduction)
        for table, gradient in zip(tables, reduction.gradients):
            window = torch.from_numpy(self._session._native.gradient(table._table))
            window.copy_(gradient.reshape(-1))
            table.push()
        if bucket.is_last():
            self._session.clock()
            self._take_in()
        return reduction.future

    def _table_of(self, parameter: torch.Tensor) -> Table:
        table = self._tables.get(id(parameter))
        if table is None:
            raise InvalidArgumentError(f"a parameter of shape {tuple(parameter.shape)} is not of the model that this "
                                       "DDPState was made with; make one with the model that the hook is registered at")
        return table

    @torch.no_grad()
    def _take_in(self) -> None:
        """Pulls the means into the buckets' buffers; DDP hands them on from there."""
        native = self._session._native
        begun, self._begun = self._begun, []
        pulls = []
        for reduction in begun:
            for parameter, gradient in zip(reduction.parameters, reduction.gradients):
                flat = gradient.reshape(-1)
                direct = flat.dtype == torch.float32
                room = flat if direct else torch.empty(flat.shape, dtype=torch.float32)
                operation = native.pull_into(self._table_of(parameter)._table, room.numpy(), False)
                pulls.append((operation, None if direct else flat, room))
        for operation, target, room in pulls:
            operation.wait()
            if self._divisor != 1:
                room.div_(self._divisor)
            if target is not None:
                target.copy_(room)
        for reduction in begun:
            reduction.future.set_result(reduction.buffer)


def ddp_hook(state: DDPState, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Reduces a bucket of gradients in shards, for ``model.register_comm_hook(DDPState(model), ddp_hook)``.

    The future has the mean over all workers, with the same bits on each. A backward pass is one clock of the session,
    under bsp. Called by DDP, from the thread that calls ``backward()``.
    """
    if not isinstance(state, DDPState):
        raise InvalidArgumentError(f"the hook's state is a {type(state).__name__}; register it as "
                                   "model.register_comm_hook(DDPState(model), ddp_hook)")
    return state.reduce(bucket)


def _check_session(s: Session, model: DistributedDataParallel) -> None:
    if s.policy != "bsp":
        raise InvalidArgumentError(f"DistributedDataParallel needs all gradients of a step; the job's policy is {s.policy}, "
                                   "and must be bsp")
    group: Any = model.process_group
    ours, theirs = (s.rank, s.size), (dist.get_rank(group), dist.get_world_size(group))
    if ours != theirs:
        raise InvalidArgumentError(f"this is worker {ours[0]} of {ours[1]}, and rank {theirs[0]} of {theirs[1]} in the "
                                   "process group; init_process_group takes both from RANK and WORLD_SIZE")
    if s.incarnation > 1:
        raise OutOfOrderError("this process takes the place of a worker that died, and the process group died with it; "
                              "set on_worker_loss: fail")
    if s in _used:
        raise OutOfOrderError("this session has a DDPState of another model; a job trains one model of DDP's")
    if s.now > 0:
        raise OutOfOrderError("tables can be opened before the first clock only: make the DDPState before the program's "
                              "own clocks, allreduce() and broadcast_object()")
