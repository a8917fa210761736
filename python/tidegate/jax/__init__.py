"""Tidegate for JAX: gradients of a pytree that shards reduce, as an optax transformation.

A training step becomes that of a worker by two lines::

    params = tidegate.jax.broadcast(params)
    optimizer = tidegate.jax.distributed(optax.adam(1e-3))

    state = optimizer.init(params)
    @jax.jit
    def step(params, state, batch):
        grads = jax.grad(loss_of)(params, batch)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state

An update runs on a thread of XLA's, and may run on after ``step`` has returned. :func:`block_until_ready` gives the
session back, for ``report()``, ``finish()`` and the end of its block.
"""

from __future__ import annotations

from typing import Any, Optional

import jax
import numpy as np
import optax
from jax.experimental import io_callback

from .._options import assign, pushed
from .._session import Session, process_session
from .._table import Table
from .._view import Array
from ..errors import InvalidArgumentError, OutOfOrderError

__all__ = ["block_until_ready", "broadcast", "distributed"]

_DTYPES = ("float32", "float16", "bfloat16")


def broadcast(params: Any, *, session: Optional[Session] = None, prefix: str = "") -> Any:
    """Returns worker 0's parameters, a pytree like `params`, on every worker; in the session's first clock.

    Each leaf is a table, named by its path in the tree behind `prefix`. Leaves are float32, float16 or bfloat16.
    """
    s = session if session is not None else process_session()
    tables = _open(s, params, prefix)
    return _values(s, params, tables)


def block_until_ready(tree: Any, *, session: Optional[Session] = None) -> Any:
    """Waits for the update whose results are in `tree`, and gives the session to the calling thread; returns `tree`.

    As jax.block_until_ready. To be called before the program itself uses or finishes the session after an update, as
    that was a call of a thread of XLA's. Raises what jax does, and OutOfOrderError while a later update runs.
    """
    s = session if session is not None else process_session()
    ready = jax.block_until_ready(tree)
    s.take_over()
    return ready


def distributed(inner: optax.GradientTransformation, *, session: Optional[Session] = None,
                prefix: str = "") -> optax.GradientTransformationExtraArgs:
    """Returns `inner` behind a reduction of the gradients over all workers, by the job's rule (the mean, mostly).

    ``init`` is called outside of ``jit``, with parameters that are worker 0's (:func:`broadcast`); ``update`` works
    inside and outside. An update is one clock of the session, and all workers make the same updates, under bsp. What it
    hands to `inner` are copies: shards write to their memory again. Raises InvalidArgumentError for leaves that do not
    fit, parameters that differ from worker 0's, or a policy other than bsp.
    """
    extended = optax.with_extra_args_support(inner)
    opened: dict[str, Any] = {}

    def init(params: Any) -> Any:
        s = session if session is not None else process_session()
        tables = _open(s, params, prefix)
        if s.now == 1:
            for (name, leaf), value in zip(_leaves(params), _leaves(_values(s, params, tables))):
                if not np.array_equal(np.asarray(leaf), np.asarray(value[1]), equal_nan=True):
                    raise InvalidArgumentError(f"parameter '{name}' differs from worker 0's; begin with "
                                               "params = tidegate.jax.broadcast(params)")
        opened.update(session=s, tables=tables)
        return extended.init(params)

    def reduce(gradients: Any) -> Any:
        if not opened:
            raise OutOfOrderError("update() before init(): tables are opened by init(params), outside of jit")
        s, tables = opened["session"], opened["tables"]
        leaves, tree = jax.tree_util.tree_flatten(gradients)
        if len(leaves) != len(tables):
            raise InvalidArgumentError(f"there are {len(leaves)} gradients of {len(tables)} parameters")
        shapes = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]

        def exchange(*given: Any) -> list[Array]:
            s.take_over()  # callbacks run on threads of XLA's, one after the other
            for table, gradient in zip(tables, given):
                table.grad[...] = np.asarray(gradient, np.float32).reshape(table.shape)
            s.exchange(tables)
            return [np.asarray(table.value).reshape(shape.shape).astype(shape.dtype)
                    for table, shape in zip(tables, shapes)]

        return jax.tree_util.tree_unflatten(tree, io_callback(exchange, shapes, *leaves, ordered=True))

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> Any:
        return extended.update(reduce(updates), state, params, **extra)

    return optax.GradientTransformationExtraArgs(init, update)


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    return [(jax.tree_util.keystr(path, simple=True, separator="."), leaf)
            for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]]


def _open(s: Session, params: Any, prefix: str) -> list[Table]:
    """Opens the tables of a tree, and hands out worker 0's values in the first clock."""
    if s.policy != "bsp":
        raise InvalidArgumentError(f"tidegate.jax needs all gradients of a step; the job's policy is {s.policy}, and must "
                                   "be bsp")
    if s.incarnation > 1:
        raise OutOfOrderError("this process takes the place of a worker that died, and the parameters died with it; set "
                              "on_worker_loss: fail")
    leaves = _leaves(params)
    if not leaves:
        raise InvalidArgumentError("the tree has no parameters")
    names = [prefix + (name or "params") for name, _ in leaves]
    if all(name in s.tables for name in names):
        return [s.tables[name] for name in names]
    for name, leaf in leaves:
        if str(leaf.dtype) not in _DTYPES or leaf.size == 0:
            raise InvalidArgumentError(f"parameter '{name}' is {leaf.dtype} of shape {tuple(leaf.shape)}; allowed: "
                                       f"{', '.join(_DTYPES)}, with elements")
    tables = [s.table(name, tuple(leaf.shape) or 1, optimizer=assign(), init=pushed())
              for name, (_, leaf) in zip(names, leaves)]
    if s.rank == 0:
        for table, (_, leaf) in zip(tables, leaves):
            table.grad[...] = np.asarray(leaf, np.float32).reshape(table.shape)
            table.push()
    s.clock()
    return tables


def _values(s: Session, params: Any, tables: list[Table]) -> Any:
    """Returns a tree like `params` with copies of the tables' parameters."""
    leaves, tree = jax.tree_util.tree_flatten(params)
    values = []
    for table, leaf in zip(tables, leaves):
        table.pull_final()
        values.append(jax.numpy.array(np.asarray(table.value).reshape(leaf.shape), dtype=leaf.dtype))
    return jax.tree_util.tree_unflatten(tree, values)
