"""What prepare.py has written, read and cut into n-grams, with numpy alone."""

import pathlib

import numpy as np


def read(path: pathlib.Path) -> tuple[list[str], np.ndarray]:
    """The texts of paragraphs, and the numbers of their languages."""
    lines = [line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()]
    return [text for _, text in lines], np.array([int(number) for number, _ in lines])


def ngrams(text: str) -> np.ndarray:
    """The ids of all n-grams of 1 to 3 characters, in 2^22."""
    last = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.uint64)
    pairs = last[1:] | last[:-1] << np.uint64(21)
    triples = pairs[1:] | last[:-2] << np.uint64(42)
    with np.errstate(over="ignore"):
        return np.concatenate([last, pairs, triples]) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(42)
