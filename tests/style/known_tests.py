#!/usr/bin/env python3
"""Checks that every tests/**/*_test.cpp is part of the build: a test that nothing runs
is worse than none.

usage: known_tests.py ROOT LIST      (LIST: the sources of all targets, written by CMake)
"""
import pathlib
import sys

import sources


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    built = set(pathlib.Path(sys.argv[2]).read_text().splitlines())
    tests = sources.git_files(root, "tests/*_test.cpp", "tests/**/*_test.cpp")
    problems = [f"{path}: no target builds it; add a tidegate_test() to the CMakeLists.txt beside it"
                for path in tests if path not in built]
    return sources.finish(problems, len(tests))


if __name__ == "__main__":
    sys.exit(main())
