#!/usr/bin/env python3
"""Runs clang-tidy on every source of the product; with --tests on those of tests, too. Slow, so a clean result is remembered by a hash of all
that it depends on: the source, the project headers it includes, .clang-tidy, the compiler's command
and clang-tidy's version. The second run takes a second.

Most of the time goes into what sources include, not into them: those that are compiled alike are checked several
at a time, as one that includes them. Where such a batch is not clean its halves are checked, and so on: the verdict
on a source that is checked alone counts.

With --recent N only sources are looked at that the last N commits, or what is not committed, have changed, and for each
header that they have changed a source which includes it: what else includes it has not changed, and is looked at every
night, as is what is older. All are looked at where that history is not there, or where it has changed .clang-tidy.

usage: tidy.py ROOT BUILD_FOLDER [--jobs N] [--tests] [--recent N]
"""
import argparse
import collections
import concurrent.futures
import hashlib
import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys

import includes
import sources

# g++'s precompiled headers mean nothing to clang.
PRECOMPILED = re.compile(r"-Winvalid-pch|-include \S*cmake_pch\.hxx")
BATCH = 36  # sources; a folder, which is compiled as one, is never divided
# Includes itself, once for every CPU: names in a batch would be those of the wrong one. Or has main.
ALONE = re.compile(r"HWY_TARGET_INCLUDE|^int main\(", re.MULTILINE)
FLAGS = ["--quiet", "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-error"]


class tidy:
    def __init__(self, root: pathlib.Path, build: pathlib.Path, tool: str):
        self.root = root
        self.tool = tool
        self.cache = build / "clang_tidy_clean"
        self.cache.mkdir(exist_ok=True)
        self.headers = includes.checker(root, [])
        version = subprocess.run([tool, "--version"], capture_output=True, check=True).stdout
        config = (root / ".clang-tidy").read_text(encoding="utf-8")
        self.header_filter = re.search(r"^HeaderFilterRegex: '(.*)'$", config, re.MULTILINE)[1]
        self.common = version + config.encode() + repr(FLAGS).encode()

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

    def check(self, path: str, folder: pathlib.Path, *flags: str) -> str:
        """What clang-tidy says of the source `path`, whose command is in `folder`; nothing if it is clean."""
        answer = subprocess.run([self.tool, *FLAGS, *flags, "-p", str(folder), path], capture_output=True, text=True)
        if answer.returncode == 0:
            return ""
        return (answer.stdout or answer.stderr).strip() or f"clang-tidy ended with {answer.returncode}"

    def run(self, batch: list[str], commands: dict[str, str]) -> list[tuple[str, str]]:
        """(source, what is wrong) for the sources of `batch` that are not clean."""
        if len(batch) > 1 and self.check_together(batch, commands[batch[0]]):
            half = len(batch) // 2
            return self.run(batch[:half], commands) + self.run(batch[half:], commands)
        wrong = {}
        if len(batch) == 1:
            wrong[batch[0]] = self.check(str(self.root / batch[0]), self.cache)
        for path in batch:
            if not wrong.get(path):
                (self.cache / self.key(path, commands[path])).touch()
        return [(path, text) for path, text in wrong.items() if text]

    def check_together(self, batch: list[str], command: str) -> str:
        folder = self.cache / hashlib.sha256("\n".join(batch).encode()).hexdigest()
        folder.mkdir(exist_ok=True)
        source = folder / "batch.cpp"
        source.write_text("".join(f'#include "{self.root / path}"\n' for path in batch))
        command = without_source(command) + f" -c {source}"
        entry = {"directory": str(folder), "file": str(source), "command": command}
        (folder / "compile_commands.json").write_text(json.dumps([entry]))
        try:
            # Here sources are included like headers, of which only the project's are looked at.
            return self.check(str(source), folder, f"--header-filter=({self.header_filter})|{self.root}/.*\\.cpp$")
        finally:
            shutil.rmtree(folder)


def without_source(command: str) -> str:
    return re.sub(r" -o \S+| -c \S+", "", command)


def folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def batches_of(root: pathlib.Path, sources_: list[str], commands: dict[str, str]) -> list[list[str]]:
    """The sources, those with the same command side by side, folders whole, about BATCH in one; the largest come first."""
    alike = collections.defaultdict(list)
    for path in sources_:
        alone = ALONE.search((root / path).read_text(encoding="utf-8"))
        alike[path if alone else without_source(commands[path])].append(path)
    result = []
    for paths in alike.values():
        result.append([])
        for _, folder in itertools.groupby(sorted(paths, key=lambda path: (folder_of(path), path)), folder_of):
            folder = list(folder)
            if result[-1] and len(result[-1]) + len(folder) > BATCH:
                result.append([])
            result[-1] += folder
    return sorted(result, key=len, reverse=True)


def sources_of(entry: dict) -> list[str]:
    """The sources that an entry of compile_commands.json compiles: more than one in a unity build."""
    path = pathlib.Path(entry["file"])
    if path.parent.name != "Unity":
        return [entry["file"]]
    return re.findall(r'^#include "(.+)"$', path.read_text(), re.MULTILINE) if path.exists() else []


def prepare_commands(root: pathlib.Path, build: pathlib.Path, to: pathlib.Path, tests: bool) -> dict[str, str]:
    """Command by source, for the sources of the project that are in the build; also written to the
    folder `to`, where clang-tidy reads them. One of each: it checks a source once per command."""
    known = set(sources.git_files(root, "*.cpp"))
    result, entries = {}, []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        for file in sources_of(entry):
            path = pathlib.Path(file)
            source = str(path.relative_to(root)) if path.is_relative_to(root) else ""
            if source not in known or source in result or (source.startswith("tests/") and not tests):
                continue
            command = PRECOMPILED.sub("", entry["command"]).replace(entry["file"], file)
            entries.append({"directory": entry["directory"], "file": file, "command": command})
            result[source] = command
    (to / "compile_commands.json").write_text(json.dumps(entries))
    return result


def changed_in(root: pathlib.Path, commits: int) -> set[str] | None:
    """The files that the last `commits`, by first parents, and what is not committed have changed; None: git cannot say."""
    changed: set[str] = set()
    for words in (["diff", "--name-only", "-z", f"HEAD~{commits}"], ["ls-files", "-z", "--others", "--exclude-standard"]):
        answer = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
        if answer.returncode != 0:
            return None
        changed.update(path for path in answer.stdout.split("\0") if path)
    return changed


def enough_for(changed: set[str], closures: dict[str, list[str]]) -> set[str]:
    """The sources of `closures`, which has what each is made of, that have changed, and more until each changed header of
    theirs is in one: at best the source of the same name, else the one that is made of least."""
    chosen = {path for path in closures if path in changed}
    seen = set().union(*(closures[path] for path in chosen))
    for header in sorted(changed):
        if header in seen:
            continue
        including = [path for path in closures if header in closures[path]]
        if including:
            stem = header.rpartition(".")[0]
            best = min(including, key=lambda path: (path.rpartition(".")[0] != stem, len(closures[path]), path))
            chosen.add(best)
            seen.update(closures[best])
    return chosen


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tests", action="store_true")
    parser.add_argument("--recent", type=int, help="commits")
    options = parser.parse_args()
    options.root, options.build = options.root.resolve(), options.build.resolve()
    tool = shutil.which("clang-tidy-14")
    if tool is None:
        print("skipped: no clang-tidy-14; `apt-get install clang-tidy-14`")
        return sources.SKIPPED
    if not (options.build / "compile_commands.json").exists():
        print("skipped: configure with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON (all presets do)")
        return sources.SKIPPED
    work = tidy(options.root, options.build, tool)
    commands = prepare_commands(options.root, options.build, work.cache, options.tests)
    unknown = [path for path, command in commands.items() if not (work.cache / work.key(path, command)).exists()]
    known = len(commands) - len(unknown)
    changed = changed_in(options.root, options.recent) if options.recent else None
    if changed is not None and ".clang-tidy" not in changed:
        chosen = enough_for(changed, {path: work.closure(path) for path in commands})
        unknown = [path for path in unknown if path in chosen]
        print(f"{len(commands) - known - len(unknown)} of {len(commands)} are not what {options.recent} commits have changed")
    problems = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        batches = batches_of(options.root, unknown, commands)
        for wrong in pool.map(lambda batch: work.run(batch, commands), batches):
            problems += [f"--- {path}\n{text}" for path, text in wrong]
    print(f"{known} of {len(commands)} known to be clean from an earlier run")
    return sources.finish(problems, len(commands))


if __name__ == "__main__":
    sys.exit(main())
