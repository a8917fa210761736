"""A small CNN on Fashion-MNIST with PyTorch: a worker whose parameters live in shards.

    tidegate launch examples/pytorch/fashion_mnist.yaml

The ten lines marked `tidegate` make a script for one process a worker that may be killed at any moment. Needs
the Debian package dataset-fashion-mnist, or the four files in a folder that --data names.
"""

import argparse
import gzip
import os
import pathlib

import numpy as np
import tidegate.torch  # tidegate
import torch
from torch import nn


def read_idx(path: pathlib.Path) -> torch.Tensor:
    """Reads a gzipped IDX file: a magic number with the count of dimensions, their sizes, then bytes."""
    raw = gzip.decompress(path.read_bytes())
    sizes = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(raw[3])]
    return torch.from_numpy(np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(sizes).copy())


def load(folder: pathlib.Path, part: str) -> tuple[torch.Tensor, torch.Tensor]:
    images = read_idx(folder / f"{part}-images-idx3-ubyte.gz")
    return images[:, None] / 255.0 - 0.5, read_idx(folder / f"{part}-labels-idx1-ubyte.gz").long()


def make_model() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 49, 128), nn.ReLU(), nn.Linear(128, 10))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=64, help="samples of a step, over all workers")
    parser.add_argument("--images", type=int, default=60000, help="train on the first so many of the 60,000")
    parser.add_argument("--device", default="cpu", help="where this worker computes: cpu, or cuda for a GPU")
    arguments = parser.parse_args()
    if arguments.device != "cpu":  # a GPU adds in the same order every time only where it is told to
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    images, labels = (part[:arguments.images].to(arguments.device) for part in load(arguments.data, "train"))
    model = make_model().to(arguments.device)

    with tidegate.session() as s:  # tidegate
        optimizer = tidegate.torch.DistributedOptimizer(tidegate.momentum(0.02), model.named_parameters())  # tidegate
        share = arguments.batch // s.size  # tidegate
        steps_per_epoch = len(images) // arguments.batch
        for step in range(optimizer.steps, arguments.epochs * steps_per_epoch):  # tidegate: from where it goes on
            epoch, within = divmod(step, steps_per_epoch)
            order = np.random.default_rng([1, epoch]).permutation(len(images))
            first = within * arguments.batch + s.rank * share  # tidegate
            chosen = torch.from_numpy(order[first:first + share]).to(arguments.device)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
            loss.backward()
            optimizer.step()
            s.report(epoch=(step + 1) / steps_per_epoch, loss=loss.item(), samples=(step + 1) * share)  # tidegate

        optimizer.pull_final()  # tidegate
        if s.rank == 0:  # tidegate
            images, labels = (part.to(arguments.device) for part in load(arguments.data, "t10k"))
            with torch.no_grad():
                guesses = torch.cat([model(part).argmax(1) for part in images.split(1000)])
            s.report_metric("test_accuracy", (guesses == labels).float().mean().item())  # tidegate


if __name__ == "__main__":
    main()
