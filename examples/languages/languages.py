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
from paragraphs import ngrams, read

LANGUAGES = 16
BATCH = 64  # paragraphs of a worker and clock


def bags(texts: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    ids = [ngrams(text) for text in texts]
    offsets = np.cumsum([0] + [len(own) for own in ids[:-1]])
    return torch.from_numpy(np.concatenate(ids).astype(np.int64)), torch.from_numpy(offsets)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default="build/languages", help="what prepare.py has written")
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()
    texts, numbers = read(arguments.data / "train.tsv")
    labels = torch.from_numpy(numbers)
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
            texts, numbers = read(arguments.data / "test.tsv")
            labels = torch.from_numpy(numbers)
            rows.eval()
            with torch.no_grad():
                right = sum((rows(*bags(texts[i:i + 256])).argmax(dim=1) == labels[i:i + 256]).sum().item()
                            for i in range(0, len(texts), 256))
            s.report_metric("test_accuracy", right / len(texts))


if __name__ == "__main__":
    main()
