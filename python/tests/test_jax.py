"""tidegate.jax: an optax transformation whose gradients shards reduce."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest
import tidegate

jax = pytest.importorskip("jax", reason="scripts/test --without torch")
optax = pytest.importorskip("optax")

Run = Callable[..., tidegate.Result]


def params_of(seed: int) -> Any:
    k1, k2 = jax.random.split(jax.random.key(seed))
    return {"first": {"w": jax.random.normal(k1, (8, 16)), "b": jax.numpy.zeros(16)},
            "second": [jax.random.normal(k2, (16, 3))]}


def loss_of(params: Any, batch: Any) -> Any:
    x, y = batch
    hidden = jax.numpy.tanh(x @ params["first"]["w"] + params["first"]["b"])
    return optax.softmax_cross_entropy_with_integer_labels(hidden @ params["second"][0], y).mean()


def batch_of(rank: int, step: int) -> Any:
    random = np.random.default_rng([step, rank])
    return random.standard_normal((12, 8), np.float32), random.integers(0, 3, 12)


def trained(optimizer: Any, params: Any, gradients_of: Callable[[Any, int], Any], steps: int) -> Any:
    state = optimizer.init(params)

    @jax.jit
    def apply(params: Any, state: Any, gradients: Any) -> Any:
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state

    for step in range(steps):
        params, state = apply(params, state, gradients_of(params, step))
    return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(params)]


def test_trains_as_one_process_would(run: Run) -> None:
    def train() -> Any:
        import tidegate.jax

        with tidegate.session() as s:
            gradient = jax.jit(jax.grad(loss_of))
            params = tidegate.jax.broadcast(params_of(seed=s.rank))
            assert sorted(s.tables) == ["first.b", "first.w", "second.0"]
            return trained(tidegate.jax.distributed(optax.adam(0.05)), params,
                           lambda p, step: gradient(p, batch_of(s.rank, step)), 5)

    returns = run(train, workers=2, shards=2).returns
    gradient = jax.jit(jax.grad(loss_of))

    def mean(params: Any, step: int) -> Any:
        both = [gradient(params, batch_of(rank, step)) for rank in (0, 1)]
        return jax.tree_util.tree_map(lambda a, b: (a + b) / 2, *both)

    alone = trained(optax.adam(0.05), params_of(seed=0), mean, 5)
    for ours, others, expected in zip(*returns, alone):
        np.testing.assert_array_equal(ours, others)
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def test_what_does_not_fit_is_refused(run: Run) -> None:
    def misuse() -> "list[str]":
        import tidegate.jax

        said = []
        with tidegate.session():
            for params in ({}, {"i": jax.numpy.arange(3)}, {"e": jax.numpy.zeros((0, 3))}):
                try:
                    tidegate.jax.broadcast(params)
                except tidegate.InvalidArgumentError as error:
                    said.append(str(error))
            optimizer = tidegate.jax.distributed(optax.sgd(0.1))
            try:
                optimizer.update({"p": jax.numpy.zeros(2)}, None)
            except tidegate.OutOfOrderError as error:
                said.append(str(error))
            params = tidegate.jax.broadcast({"p": jax.numpy.ones(2)})
            try:
                optimizer.init({"p": params["p"] + 1})
            except tidegate.InvalidArgumentError as error:
                said.append(str(error))
        return said

    said = run(misuse).returns[0]
    assert len(said) == 5 and "differs from worker 0's" in said[-1], said
