#!/usr/bin/env python3
"""Installs a build into a temporary prefix and uses it as a user would.

usage: see tests/install/CMakeLists.txt. Standard library only; removes what it writes.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

PROJECT = """\
cmake_minimum_required(VERSION 3.25)
project(my_worker LANGUAGES CXX)
find_package(tidegate 0.2 REQUIRED)
add_executable(push_pull push_pull.cpp)
target_link_libraries(push_pull PRIVATE tidegate::client)
"""
LAUNCH_SECONDS_MAX = 120


def run(*command: object, cwd: pathlib.Path | None = None,
        env: dict[str, str] | None = None, seconds: int = 240) -> str:
    """Runs in a process group of its own, which is ended when the time is over."""
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    process = subprocess.Popen(words, cwd=cwd, env=env, text=True, start_new_session=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        print(output)
        sys.exit(f"took longer than {seconds} s: {' '.join(words)}")
    print(output, flush=True)
    if process.returncode != 0:
        sys.exit(f"exit code {process.returncode}: {' '.join(words)}")
    return output


def expect(condition: bool, what: str) -> None:
    if not condition:
        sys.exit(f"expected {what}")


def install(options: argparse.Namespace, prefix: pathlib.Path) -> None:
    run(options.cmake, "--install", options.build, "--prefix", prefix)
    expect((prefix / "include/tidegate/client.hpp").is_file(), "the front door header")
    expect((prefix / "bin/tidegate").is_file(), "bin/tidegate")
    expect((prefix / "bin/fashion_mnist").is_file(), "bin/fashion_mnist")
    for file in ("man/man1/tidegate.1", "man/man1/tidegate-launch.1", "man/man5/tidegate.yaml.5",
                 "bash-completion/completions/tidegate", "zsh/vendor-completions/_tidegate",
                 "fish/vendor_completions.d/tidegate.fish"):
        expect((prefix / "share" / file).stat().st_size > 0, f"share/{file}")
    # A package that names the checkout works here and nowhere else.
    for file in prefix.rglob("*.cmake"):
        for folder in (options.source, options.build):
            expect(str(folder) not in file.read_text(), f"{file} not to name {folder}")
    # What the installed headers and the README speak of is installed, too.
    documents = prefix / "share/doc/tidegate"
    pages = [*prefix.glob("include/tidegate/*.hpp"), documents / "README.md"]
    named = {path for page in pages for path in re.findall(r"docs/[\w/]+\.(?:md|svg)", page.read_text())}
    expect("docs/yaml.md" in named, "include/tidegate to name docs/yaml.md")
    for path in sorted(named):
        expect((documents / path).is_file(), f"{path} in {documents}")


def validate_examples(prefix: pathlib.Path) -> None:
    """scale.yaml is a model of a cluster, which only `tidegate simulate` reads."""
    examples = sorted((prefix / "share/tidegate/examples").glob("*.yaml"))
    expect(len(examples) > 4, f"examples in {prefix}")
    for example in examples:
        if example.name != "scale.yaml":
            run(prefix / "bin/tidegate", "validate", example)


def build_worker(options: argparse.Namespace, prefix: pathlib.Path, work: pathlib.Path) -> None:
    shutil.copy(prefix / "share/tidegate/examples/push_pull.cpp", work)
    shutil.copy(prefix / "share/tidegate/examples/push_pull.yaml", work)
    (work / "CMakeLists.txt").write_text(PROJECT)
    run(options.cmake, "-S", work, "-B", work / "build", "-G", options.generator,
        f"-DCMAKE_CXX_COMPILER={options.compiler}", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_CXX_FLAGS={options.flags}", "-DCMAKE_BUILD_TYPE=Release")
    run(options.cmake, "--build", work / "build")


def launch(prefix: pathlib.Path, work: pathlib.Path) -> None:
    # `push_pull` is not beside the installed tidegate, so the launcher finds it in PATH.
    env = dict(os.environ, PATH=f"{work / 'build'}:{os.environ['PATH']}")
    run(prefix / "bin/tidegate", "launch", "push_pull.yaml", cwd=work, env=env,
        seconds=LAUNCH_SECONDS_MAX)
    # Proof that the worker ran to its end: it reports the last weight, 1 - 10 * 0.125.
    results = list(work.rglob("result.json"))
    expect(len(results) == 1, f"one result.json below {work}")
    job = json.loads(results[0].read_text())["jobs"][0]
    expect(job["metrics"] == {"weight": -0.25}, f"weight -0.25 in {job}")
    expect(job["clocks"] == 10, f"10 clocks in {job}")


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("source", "build"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("cmake", "generator", "compiler"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--flags", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidegate_install_") as folder:
        prefix = pathlib.Path(folder) / "prefix"
        work = pathlib.Path(folder) / "worker"
        work.mkdir()
        install(options, prefix)
        validate_examples(prefix)
        build_worker(options, prefix, work)
        launch(prefix, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
