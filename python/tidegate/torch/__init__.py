"""Tidegate for PyTorch: an optimizer whose parameters live in shards, and Horovod's names beside it.

A training script becomes a worker by one line::

    optimizer = tidegate.torch.DistributedOptimizer(tidegate.momentum(0.05), model.named_parameters())
    for step in range(optimizer.steps, steps):
        loss = loss_of(model, batch_of(rank(), step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

A script for Horovod changes its import: ``import tidegate.torch as hvd``. One for DistributedDataParallel registers
:func:`ddp_hook` at its model.
"""

from ._collectives import (Average, Compression, Sum, allreduce, broadcast_object, broadcast_optimizer_state,
                           broadcast_parameters, init, is_initialized, local_rank, local_size, rank, shutdown, size)
from ._ddp import DDPState, ddp_hook
from ._embedding import Embedding
from ._optimizer import DistributedOptimizer
from ._sampler import Sampler

__all__ = [
    "Average", "Compression", "DDPState", "DistributedOptimizer", "Embedding", "Sampler", "Sum", "allreduce", "broadcast_object",
    "broadcast_optimizer_state", "broadcast_parameters", "ddp_hook", "init", "is_initialized", "local_rank", "local_size",
    "rank", "shutdown", "size",
]
