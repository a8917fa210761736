#!/usr/bin/env python3
"""Checks that no source is longer than 400 lines: a file is one thing, and half of ours are under 150.

usage: lengths.py ROOT
"""
import pathlib
import sys

import sources

LINES_MAX = 400
# The cap is soft: path -> why this file is better long.
EXCUSED: dict[str, str] = {}


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    files = sources.git_files(root, "*.hpp", "*.cpp", "*.cu", "*.cuh", "*.py", "*.sh", "*.cmake", "*CMakeLists.txt")
    problems = []
    for path in files:
        lines = (root / path).read_bytes().count(b"\n")
        if lines > LINES_MAX and path not in EXCUSED:
            problems.append(f"{path}: {lines} lines; split it, or say why not in lengths.py")
        if lines <= LINES_MAX and path in EXCUSED:
            problems.append(f"{path}: {lines} lines; it needs no excuse in lengths.py any more")
    problems += [f"{path}: excused in lengths.py but not there" for path in EXCUSED
                 if path not in files]
    return sources.finish(problems, len(files))


if __name__ == "__main__":
    sys.exit(main())
