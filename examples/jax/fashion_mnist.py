"""A multi-layer perceptron on Fashion-MNIST with JAX: gradients are reduced in shards, and optax steps on the workers.

    tidegate launch examples/jax/fashion_mnist.yaml

The lines marked `tidegate` are what differs from a script for one process. Needs the Debian package
dataset-fashion-mnist, or the four files in a folder that --data names.
"""

import argparse
import gzip
import os
import pathlib

# One thread for the arithmetic of a worker: workers share the cores of their host.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import jax.numpy as jnp
import numpy as np
import optax
import tidegate.jax  # tidegate


def read_idx(path: pathlib.Path) -> np.ndarray:
    """Reads a gzipped IDX file: a magic number with the count of dimensions, their sizes, then bytes."""
    raw = gzip.decompress(path.read_bytes())
    sizes = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(raw[3])]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes)


def load(folder: pathlib.Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz")
    return images.reshape(len(images), -1).astype(np.float32) / 255 - 0.5, labels.astype(np.int32)


def make_params(key: jax.Array, widths: tuple[int, ...] = (784, 128, 10)) -> list[dict[str, jax.Array]]:
    keys = jax.random.split(key, len(widths) - 1)
    return [{"weight": jax.random.normal(k, (i, o)) * (2 / i) ** 0.5, "bias": jnp.zeros(o)}
            for k, i, o in zip(keys, widths, widths[1:])]


def scores_of(params: list[dict[str, jax.Array]], x: jax.Array) -> jax.Array:
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["weight"] + layer["bias"])
    return x @ params[-1]["weight"] + params[-1]["bias"]


def loss_of(params: list[dict[str, jax.Array]], x: jax.Array, y: jax.Array) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(scores_of(params, x), y).mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=128, help="samples of a step, over all workers")
    parser.add_argument("--by-label", action="store_true", help="give each worker the labels of a batch that follow those "
                        "of the worker before it: what it knows of the others' comes through the exchange")
    arguments = parser.parse_args()
    images, labels = load(arguments.data, "train")

    with tidegate.session() as s:  # tidegate
        params = tidegate.jax.broadcast(make_params(jax.random.key(s.rank)))  # tidegate: worker 0's, on every worker
        optimizer = tidegate.jax.distributed(optax.adam(1e-3))  # tidegate
        state = optimizer.init(params)

        @jax.jit
        def step(params, state, x, y):
            loss, gradients = jax.value_and_grad(loss_of)(params, x, y)
            updates, state = optimizer.update(gradients, state, params)
            return optax.apply_updates(params, updates), state, loss

        share = arguments.batch // s.size  # tidegate
        steps_per_epoch = len(images) // arguments.batch
        for epoch in range(arguments.epochs):
            order = np.random.default_rng([1, epoch]).permutation(len(images))
            for within in range(steps_per_epoch):
                chosen = order[within * arguments.batch:(within + 1) * arguments.batch]
                if arguments.by_label:
                    chosen = chosen[np.argsort(labels[chosen], kind="stable")]
                chosen = chosen[s.rank * share:(s.rank + 1) * share]  # tidegate
                params, state, loss = step(params, state, images[chosen], labels[chosen])
                done = epoch * steps_per_epoch + within + 1
                tidegate.jax.block_until_ready(params)  # tidegate: the update is done, and the session is this thread's
                s.report(epoch=done / steps_per_epoch, loss=float(loss), samples=done * share)  # tidegate

        if s.rank == 0:  # tidegate
            images, labels = load(arguments.data, "t10k")
            guesses = jax.jit(scores_of)(params, images).argmax(axis=1)
            s.report_metric("test_accuracy", float((guesses == labels).mean()))  # tidegate


if __name__ == "__main__":
    main()
