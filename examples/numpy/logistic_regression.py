"""Softmax regression on Fashion-MNIST with numpy: a worker in Python.

    tidegate launch examples/numpy/logistic_regression.yaml

A batch is a function of (seed, rank, clock), so a worker may be killed at any moment: the process that takes its
place goes on at the same clock, and the parameters come out with the same bits. Needs the Debian package
dataset-fashion-mnist, or the four files in a folder that --data names.
"""

import argparse
import gzip
import pathlib

import numpy as np
import tidegate


def read_idx(path: pathlib.Path) -> np.ndarray:
    """Reads a gzipped IDX file: a magic number with the count of dimensions, their sizes, then bytes."""
    raw = gzip.decompress(path.read_bytes())
    dimensions = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(raw[3])]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(dimensions)


def load(folder: pathlib.Path, part: str) -> tuple[np.ndarray, np.ndarray]:
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz")
    labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz")
    return images.reshape(len(images), -1).astype(np.float32) / 255, labels


def batch_of(seed: int, rank: int, clock: int, size: int, samples: int) -> np.ndarray:
    return np.random.default_rng([seed, rank, clock]).integers(0, samples, size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64, help="samples of a worker and clock")
    arguments = parser.parse_args()
    images, labels = load(arguments.data, "train")

    with tidegate.session() as s:
        weight = s.table("weight", (784, 10), optimizer=tidegate.momentum(0.02))
        bias = s.table("bias", 10, optimizer=tidegate.momentum(0.02))
        clocks = arguments.epochs * len(images) // (arguments.batch * s.size)
        while s.now < clocks:
            chosen = batch_of(s.seed, s.rank, s.now, arguments.batch, len(images))
            x, y = images[chosen], labels[chosen]
            weight.pull()
            bias.pull()
            scores = x @ weight.value + bias.value
            scores -= scores.max(axis=1, keepdims=True)
            error = np.exp(scores)
            error /= error.sum(axis=1, keepdims=True)
            loss = -np.log(error[np.arange(len(y)), y]).mean()
            error[np.arange(len(y)), y] -= 1
            np.matmul(x.T, error / len(y), out=weight.grad)
            np.mean(error, axis=0, out=bias.grad)
            weight.push()
            bias.push()
            s.clock()
            done = s.now
            s.report(clocks_total=clocks, epoch=arguments.epochs * done / clocks, loss=loss,
                     samples=done * arguments.batch)

        if s.rank == 0:
            weight.pull_final()
            bias.pull_final()
            images, labels = load(arguments.data, "t10k")
            guesses = (images @ weight.value + bias.value).argmax(axis=1)
            s.report_metric("test_accuracy", float((guesses == labels).mean()))


if __name__ == "__main__":
    main()
