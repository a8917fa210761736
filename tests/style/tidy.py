#!/usr/bin/env python3
"""Runs clang-tidy on every source of the product; with --tests on those of tests, too. Slow, so a clean result is remembered by a hash of all
that it depends on: the source, the project headers it includes, .clang-tidy, the compiler's command
and clang-tidy's version. The second run takes a second.

usage: tidy.py ROOT BUILD_FOLDER [--jobs N] [--tests]
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

import includes
import sources

# g++'s precompiled headers mean nothing to clang, and without them a source must include what it uses.
PRECOMPILED = re.compile(r"-Winvalid-pch|-include \S*cmake_pch\.hxx")
FLAGS = ["--quiet", "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error"]


class tidy:
    def __init__(self, root: pathlib.Path, build: pathlib.Path, tool: str):
        self.root = root
        self.tool = tool
        self.cache = build / "clang_tidy_clean"
        self.cache.mkdir(exist_ok=True)
        self.headers = includes.checker(root, [])
        version = subprocess.run([tool, "--version"], capture_output=True, check=True).stdout
        self.common = version + (root / ".clang-tidy").read_bytes() + repr(FLAGS).encode()

    def closure(self, path: str) -> list[str]:
        """The project's own files that `path` is made of, itself included."""
        seen, waiting = {path}, [path]
        while waiting:
            for name in self.headers.includes(waiting.pop()):
                target = self.headers.resolve(name)
                if target and target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return sorted(seen)

    def key(self, path: str, command: str) -> str:
        digest = hashlib.sha256(self.common)
        digest.update(command.encode())
        for name in self.closure(path):
            content = (self.root / name).read_bytes()
            digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()

    def run(self, path: str, command: str) -> tuple[str, bool, str]:
        """(path, came from the cache, what is wrong)."""
        clean = self.cache / self.key(path, command)
        if clean.exists():
            return path, True, ""
        answer = subprocess.run([self.tool, *FLAGS, "-p", str(self.cache), str(self.root / path)],
                                capture_output=True, text=True)
        if answer.returncode == 0:
            clean.touch()
            return path, False, ""
        return path, False, (answer.stdout or answer.stderr).strip()


def prepare_commands(root: pathlib.Path, build: pathlib.Path, to: pathlib.Path, tests: bool) -> dict[str, str]:
    """Command by source, for the sources of the project that are in the build; also written to the
    folder `to`, where clang-tidy reads them. One of each: it checks a source once per command."""
    known = set(sources.git_files(root, "*.cpp"))
    result, entries = {}, []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(root) and str(path.relative_to(root)) in known:
            source = str(path.relative_to(root))
            if source in result or (source.startswith("tests/") and not tests):
                continue
            entry["command"] = PRECOMPILED.sub("", entry["command"])
            entries.append(entry)
            result[source] = entry["command"]
    (to / "compile_commands.json").write_text(json.dumps(entries))
    return result


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tests", action="store_true")
    options = parser.parse_args()
    tool = shutil.which("clang-tidy-14")
    if tool is None:
        print("skipped: no clang-tidy-14; `apt-get install clang-tidy-14`")
        return sources.SKIPPED
    if not (options.build / "compile_commands.json").exists():
        print("skipped: configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON (all presets do)")
        return sources.SKIPPED
    work = tidy(options.root, options.build, tool)
    commands = prepare_commands(options.root, options.build, work.cache, options.tests)
    problems, cached = [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, from_cache, wrong in pool.map(lambda item: work.run(*item), commands.items()):
            cached += from_cache
            if wrong:
                problems.append(f"--- {path}\n{wrong}")
    print(f"{cached} of {len(commands)} known to be clean from an earlier run")
    return sources.finish(problems, len(commands))


if __name__ == "__main__":
    sys.exit(main())
