#!/usr/bin/env python3
"""Checks that clang-format 14 would change nothing. Other versions format differently: skipped then.

usage: format.py ROOT
"""
import pathlib
import re
import subprocess
import sys

import sources


def find_clang_format() -> str | None:
    for name in ("clang-format-14", "clang-format"):
        try:
            answer = subprocess.run([name, "--version"], capture_output=True, text=True)
        except OSError:
            continue
        if re.search(r"version 14\.", answer.stdout):
            return name
    return None


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    tool = find_clang_format()
    if tool is None:
        print("skipped: no clang-format 14; `apt-get install clang-format-14`")
        return sources.SKIPPED
    files = sources.git_files(root, "*.hpp", "*.cpp", "*.cu", "*.cuh")
    answer = subprocess.run([tool, "--dry-run", "-Werror", *files], cwd=root,
                            capture_output=True, text=True)
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", answer.stderr, re.MULTILINE)))
    problems = [f"{path}: run `clang-format-14 -i {path}`" for path in wrong]
    if answer.returncode != 0 and not problems:
        problems.append(answer.stderr.strip() or f"{tool} failed")
    return sources.finish(problems, len(files))


if __name__ == "__main__":
    sys.exit(main())
