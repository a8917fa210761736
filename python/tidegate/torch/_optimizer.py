"""DistributedOptimizer: gradients go to the shards as the backward pass makes them."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, Optional, Union

import torch

from .._options import Optimizer as Spec
from .._options import assign, pushed
from .._session import Session, process_session
from ..errors import InvalidArgumentError, OutOfOrderError
from ._collectives import make_put_off, scratch_of
from ._memory import keep_freed_memory
from ._parameters import (Bucket, Entry, NamedParameters, check_entry, check_in_place, check_parameters, device_of,
                          named_of, stream_of, value_of, window_of)


class DistributedOptimizer(torch.optim.Optimizer):
    """The optimizer of a model whose gradients all workers of the job contribute to.

    `optimizer`: what shards run for every parameter, as ``tidegate.adam(1e-3)``; or a torch optimizer, which steps on
    each worker with the gradients that the shards have reduced (`reduce_only`, which need not be given; under bsp).
    `named_parameters`: as of the model; each is a table of that name, behind `prefix`. A torch optimizer's may be left
    out. They are float32, float16 or bfloat16, on the CPU or all on one CUDA device; sums and the shards' parameters are
    float32. Parameters start as those of worker 0. On CUDA a bucket is pushed when the stream that the backward pass runs
    on has come to it; nothing waits on the host.
    `session`: the process's, opened where there is none.
    `bucket_bytes`: gradients are pushed in groups of about this size, in the order in which the backward pass makes
    them. `overlap=False` pushes them in :meth:`step`, so that a program may change ``grad`` before (to clip it, say).
    `in_place`: parameters are views of the memory where shards of this host keep them, so that nothing is copied after
    a step; under bsp, of float32. A program must not write to parameters then, as load_state_dict() does: what it
    writes is lost, and mostly ends it, by SIGSEGV. Tensors made of them, as by ``detach()``, are of use until step(),
    and not after a step() that failed. At the end of the session parameters become copies.
    `backward_passes_per_step`: gradients of so many passes are added up. `compression`: Compression.fp16 rounds
    gradients to float16. `keep_memory`: malloc keeps the memory of gradients from step to step, which is cleared page by page
    otherwise (large layers on the CPU); for the process, whose memory stays at its most. Not where the environment sets
    malloc up (``MALLOC_MMAP_THRESHOLD_``, ``GLIBC_TUNABLES``).

    ``param_groups[0]["lr"]`` is what a torch scheduler changes: shards step at that rate, too.

    One step is one clock of the session; the first clock is the one that hands out worker 0's parameters. Raises
    InvalidArgumentError for parameters that do not fit, and what the session raises.
    """

    def __init__(self, optimizer: Union[Spec, torch.optim.Optimizer],
                 named_parameters: Optional[NamedParameters] = None, compression: Any = None,
                 backward_passes_per_step: int = 1, *, session: Optional[Session] = None,
                 reduce_only: Optional[bool] = None, prefix: str = "", bucket_bytes: int = 4 << 20,
                 overlap: bool = True, in_place: bool = False, keep_memory: bool = True) -> None:
        self._inner = optimizer if isinstance(optimizer, torch.optim.Optimizer) else None
        if self._inner is None and not isinstance(optimizer, Spec):
            raise InvalidArgumentError(f"the optimizer is a {type(optimizer).__name__}; allowed: one that shards run, as "
                                       "tidegate.adam(1e-3), and a torch optimizer")
        if reduce_only is not None and reduce_only != (self._inner is not None):
            raise InvalidArgumentError(
                "with reduce_only=True the optimizer is a torch optimizer, which steps on the worker; with False, one "
                f"that shards run, as tidegate.adam(1e-3). This is a {type(optimizer).__name__}")
        named = named_of(self._inner, named_parameters)
        check_parameters(named)
        if backward_passes_per_step < 1:
            raise InvalidArgumentError(f"backward_passes_per_step is {backward_passes_per_step}; allowed: from 1")
        if self._inner is not None:
            super().__init__(self._inner.param_groups, self._inner.defaults)
            self.param_groups = self._inner.param_groups
            self.state = self._inner.state
        else:
            assert isinstance(optimizer, Spec)
            super().__init__([p for _, p in named], {"lr": optimizer.learning_rate})
        self._session = session if session is not None else process_session()
        if self._inner is not None and self._session.policy != "bsp":
            raise InvalidArgumentError(f"a torch optimizer that steps on the workers needs all gradients of a step; the "
                                       f"job's policy is {self._session.policy}, and must be bsp")
        if in_place:
            check_in_place(self._inner, self._session, named)
        if self._session.now > 0 and self._session.incarnation == 1:
            raise OutOfOrderError("tables can be opened before the first clock only: make the DistributedOptimizer before "
                                  "allreduce(), broadcast_object() and the program's own clocks")
        if self._inner is not None:
            scratch_of(self._session)  # for the collective calls of a script for Horovod
        device = device_of(named)
        if keep_memory and device is None:
            keep_freed_memory()
        self._device = named[0][1].device if device is not None else None
        self._stream = -1
        if device is not None:
            self._session.use_device(device, stream=stream_of(named[0][1].device))
        self._overlap = overlap
        self._in_place = in_place
        self._is_mapped = False
        self._passes_per_step = backward_passes_per_step
        self._rate = optimizer.learning_rate if isinstance(optimizer, Spec) else None
        self._followed_rate = self._rate
        self._round = None if compression is None else compression.compress
        self._synchronized = False
        self._skips = False
        self._buckets: list[Bucket] = []
        self._entries = self._open_tables(named, optimizer if isinstance(optimizer, Spec) else None, prefix,
                                          bucket_bytes)
        self._hand_out_parameters()
        if in_place:
            self._session._before_end.append(self._copy_parameters)
        make_put_off()
        self._begin_step()
        self._hooks = [e.parameter.register_post_accumulate_grad_hook(self._hook_of(e)) for e in self._entries
                       if e.parameter.requires_grad]

    @property
    def steps(self) -> int:
        """Steps that this rank has made, whichever process ran it: where a program's loop goes on.

        Clocks that the program ends itself, and those of :func:`allreduce` and the like, count as steps.
        """
        return self._session.now - 1

    @property
    def session(self) -> Session:
        """The session of this worker."""
        return self._session

    def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        """Ends the clock: pushes what has not been pushed, and takes in what the job's policy allows.

        After it, parameters are those of the new clock (or, with reduce_only, have been stepped by the torch
        optimizer). Returns what `closure` returns. Raises OutOfOrderError if no parameter has a gradient.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if not self._skips:
            self.synchronize()
        elif not self._synchronized:
            raise OutOfOrderError("step() within skip_synchronize() comes after synchronize()")
        self._synchronized = False
        if self._inner is not None:
            self._inner.step()
        return loss

    def synchronize(self) -> None:
        """Does what :meth:`step` does but for the torch optimizer's step: ``grad`` is the reduced gradient then.

        For clipping by what all workers have found, with reduce_only::

            optimizer.synchronize()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            with optimizer.skip_synchronize():
                optimizer.step()
        """
        if self._synchronized:
            raise OutOfOrderError("synchronize() was called twice before step(); call that within skip_synchronize()")
        if not any(e.passes or e.parameter.grad is not None for e in self._entries):
            raise OutOfOrderError("no parameter of this optimizer has a gradient. Call backward() first, or skip() without "
                                  "samples; if it was called, the parameters were replaced after the optimizer was made")
        self._end_clock()

    def skip(self) -> None:
        """Makes the step of a clock in which this worker has no samples: as :meth:`step`, without a gradient of its own.

        What the other workers have found counts. Raises OutOfOrderError after a backward pass of the same step.
        """
        if any(e.passes for e in self._entries):
            raise OutOfOrderError("skip() comes in place of backward() and step(), not after backward()")
        for entry in self._entries:
            entry.parameter.grad = None
        self._end_clock()
        self._synchronized = False
        if self._inner is not None:
            self._inner.step()

    def _end_clock(self) -> None:
        for bucket in self._buckets:
            for entry in bucket.entries:
                p = entry.parameter
                if self._inner is not None and p.requires_grad and p.grad is None:
                    p.grad = torch.zeros_like(p)  # others may have one
                if not entry.staged and p.grad is not None:
                    self._stage(entry)
            self._push(bucket)
        self._session.clock()
        self._take_in(self._entries if self._inner is None else [e for e in self._entries if e.staged])
        self._begin_step()
        self._synchronized = True

    @contextlib.contextmanager
    def skip_synchronize(self) -> Iterator[None]:
        """Within it :meth:`step` makes no clock; :meth:`synchronize` has."""
        self._skips = True
        try:
            yield
        finally:
            self._skips = False

    def pull_final(self) -> None:
        """Takes in the parameters with every update of every worker of the clocks before this one."""
        if self._inner is None:
            self._take_in(self._entries, to_the_end=True)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """As of torch's optimizers."""
        if any(entry.staged for entry in self._entries):
            raise OutOfOrderError("zero_grad() between backward() and step(): the gradients are on their way already; "
                                  "call it before backward(), or make the optimizer with overlap=False")
        for entry in self._entries:
            entry.passes = 0
        if self._inner is not None:
            self._inner.zero_grad(set_to_none)
            return
        for entry in self._entries:
            gradient = entry.parameter.grad
            if set_to_none:
                entry.parameter.grad = None
            elif gradient is not None:
                entry.parameter.grad = gradient.detach().zero_()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As of torch's optimizers, which call it when they are made."""
        # torch keeps this call away from its compiler, and imports that to do so: half of a worker's time to its first
        # step. zero_grad() does not call torch's for the same reason.
        inherited = torch.optim.Optimizer.add_param_group
        getattr(inherited, "__wrapped__", inherited)(self, param_group)

    def state_dict(self) -> dict[str, Any]:
        """Of the torch optimizer. What shards run keeps its state there, and in the job's checkpoints."""
        return self._inner.state_dict() if self._inner is not None else super().state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Likewise."""
        if self._inner is None:
            super().load_state_dict(state_dict)
            return
        self._inner.load_state_dict(state_dict)
        self.param_groups = self._inner.param_groups
        self.state = self._inner.state

    def _open_tables(self, named: list[tuple[str, torch.nn.Parameter]], spec: Optional[Spec], prefix: str,
                     bucket_bytes: int) -> list[Entry]:
        entries = []
        optimizer = spec if spec is not None else assign()
        # The last layers' gradients come first.
        for name, parameter in reversed(named):
            table = self._session.table(prefix + name, tuple(parameter.shape), optimizer=optimizer, init=pushed())
            if not self._buckets or self._buckets[-1].bytes >= bucket_bytes:
                self._buckets.append(Bucket())
            bucket = self._buckets[-1]
            entry = Entry(name, parameter, table, parameter.shape, parameter.dtype, parameter.device, bucket)
            bucket.entries.append(entry)
            bucket.bytes += 4 * table.size
            entries.append(entry)
        return entries

    def _hand_out_parameters(self) -> None:
        """Gives worker 0's parameters to all, in the first clock. One that goes on later takes in those of its clock."""
        if self._session.now == 0:
            if self._session.rank == 0:
                for entry in self._entries:
                    window_of(entry.table, entry.shape).copy_(entry.parameter.detach())
                    entry.table.push()
            self._session.clock()
            self._take_in(self._entries, to_the_end=True)
        elif self._inner is None:
            self._take_in(self._entries)
        else:
            raise OutOfOrderError(
                "this process takes the place of a worker that died, and with reduce_only the parameters died with it; "
                "let shards run the optimizer, or set on_worker_loss: fail")

    def _begin_step(self) -> None:
        for bucket in self._buckets:
            bucket.waits_for = sum(e.parameter.requires_grad for e in bucket.entries)
            bucket.is_pushed = False
            for entry in bucket.entries:
                entry.passes = 0
                entry.staged = False

    def _hook_of(self, entry: Entry) -> Callable[[torch.Tensor], None]:
        def on_gradient(_: torch.Tensor) -> None:
            entry.passes += 1
            if entry.passes > self._passes_per_step and entry.staged:
                raise OutOfOrderError(
                    f"the gradient of '{entry.name}' was computed {entry.passes} times since the last step(), and is on "
                    f"its way already; make the optimizer with backward_passes_per_step={entry.passes}")
            if not self._overlap or entry.passes < self._passes_per_step:
                return
            with self._session._borrowed():  # for a GPU autograd has a thread of its own
                self._stage(entry)
                entry.bucket.waits_for -= 1
                if entry.bucket.waits_for == 0:
                    self._push(entry.bucket)

        return on_gradient

    def _follow_stream(self) -> None:
        """Has pushes wait for the stream that this thread computes on; autograd has one of its own thread."""
        if self._device is None:
            return
        stream = stream_of(self._device)
        if stream != self._stream:
            self._session.use_device(f"cuda:{self._device.index or 0}", stream=stream)
            self._stream = stream

    def _stage(self, entry: Entry) -> None:
        gradient = entry.parameter.grad
        assert gradient is not None
        check_entry(entry, gradient)
        if self._round is not None:
            gradient, _ = self._round(gradient)
        window_of(entry.table, entry.shape).copy_(gradient)
        entry.staged = True

    def _follow_rate(self) -> None:
        """Has shards step at the rate that a scheduler has set since the optimizer was made."""
        rate = self._followed_rate if self._rate is None else float(self.param_groups[0]["lr"])
        if rate is None or self._rate is None or rate == self._followed_rate:
            return
        if self._rate == 0:
            raise InvalidArgumentError(f"lr was set to {rate}, but shards scale the rate that the optimizer was made with: 0")
        self._session.scale_learning_rate(rate / self._rate)
        self._followed_rate = rate

    def _push(self, bucket: Bucket) -> None:
        if bucket.is_pushed:
            return
        bucket.is_pushed = True
        self._follow_rate()
        self._follow_stream()
        for entry in bucket.entries:
            if entry.staged:
                entry.table.push()

    @torch.no_grad()
    def _take_in(self, entries: list[Entry], to_the_end: bool = False) -> None:
        """Pulls tables into parameters; with a torch optimizer, after the first clock, into gradients."""
        self._follow_stream()
        if self._in_place:
            return self._map(entries, to_the_end)
        native = self._session._native
        into_gradient = self._inner is not None and not to_the_end
        begun = []
        for entry in entries:
            target = entry.parameter.grad if into_gradient else entry.parameter.data
            assert target is not None
            check_entry(entry, target)
            direct = target.dtype == torch.float32 and target.is_contiguous()
            room = target if direct else torch.empty(entry.shape, dtype=torch.float32, device=target.device)
            if self._device is None:
                operation = native.pull_into(entry.table._table, room.detach().view(-1).numpy(), to_the_end)
            else:
                operation = self._session._device_calls.pull_into(entry.table._table, room.data_ptr(), room, to_the_end)
            begun.append((operation, None if direct else target, room))
        for operation, target, room in begun:
            operation.wait()
            if target is not None:
                target.copy_(room)


    def _copy_parameters(self) -> None:
        if not self._is_mapped:
            return  # a step has failed in the middle, and some may be nowhere
        for entry in self._entries:
            entry.parameter.data = entry.parameter.data.clone()

    def _map(self, entries: list[Entry], to_the_end: bool) -> None:
        """Makes parameters views of where shards keep the version that the policy allows."""
        self._is_mapped = False
        begun = [(entry, entry.table.pull_final(wait=False) if to_the_end else entry.table.pull(wait=False))
                 for entry in entries]
        for entry, operation in begun:
            assert operation is not None
            operation.wait()
            check_entry(entry, entry.parameter.data)
            entry.parameter.data = value_of(entry.table, entry.shape)
        self._is_mapped = True
