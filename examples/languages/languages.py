"""Which language a paragraph is in, from the n-grams of its characters: an embedding of PyTorch whose rows are on shards.

    python3 examples/languages/prepare.py
    tidegate launch examples/languages/languages_pytorch.yaml

The rows are stepped by the shards. A batch is a function of rank and clock, so a
worker may be killed at any moment, and the parameters come out with the same bits.
"""

import argparse
import pathlib

import numpy as np
import tidegate
import tidegate.torch
import torch

LANGUAGES = 16
BATCH = 64  # paragraphs of a worker and clock


def read(path: pathlib.Path) -> tuple[list[str], torch.Tensor]:
    lines = [line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()]
    return [text for _, text in lines], torch.tensor([int(number) for number, _ in lines])


def ngrams(text: str) -> np.ndarray:
    """The ids of all n-grams of 1 to 3 characters, in 2^22."""
    last = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.uint64)
    pairs = last[1:] | last[:-1] << np.uint64(21)
    triples = pairs[1:] | last[:-2] << np.uint64(42)
    with np.errstate(over="ignore"):
        return np.concatenate([last, pairs, triples]) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(42)


def bags(texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    ids = [ngrams(text) for text in texts]
    offsets = np.cumsum([0] + [len(own) for own in ids[:-1]])
    return torch.from_numpy(np.concatenate(ids).astype(np.int64)), torch.from_numpy(offsets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default="build/languages", help="what prepare.py has written")
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()
    texts, labels = read(arguments.data / "train.tsv")
    torch.set_num_threads(1)

    with tidegate.session() as s:
        rows = tidegate.torch.Embedding(s, "ngrams", LANGUAGES, mode="mean", optimizer=tidegate.adagrad(1.0), init=0.0)
        clocks = arguments.epochs * len(texts) // (BATCH * s.size)
        while s.now < clocks:
            chosen = (np.arange(BATCH) + (s.now * s.size + s.rank) * BATCH) % len(texts)
            loss = torch.nn.functional.cross_entropy(rows(*bags([texts[i] for i in chosen])), labels[chosen])
            loss.backward()
            rows.push()
            s.clock()
            s.report(clocks_total=clocks, epoch=arguments.epochs * s.now / clocks, loss=loss.item(), samples=s.now * BATCH)

        if s.rank == 0:
            texts, labels = read(arguments.data / "test.tsv")
            rows.eval()
            with torch.no_grad():
                right = sum((rows(*bags(texts[i:i + 256])).argmax(dim=1) == labels[i:i + 256]).sum().item()
                            for i in range(0, len(texts), 256))
            s.report_metric("test_accuracy", right / len(texts))


if __name__ == "__main__":
    main()
