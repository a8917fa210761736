"""``python -m tidegate doctor``: what this machine offers, what is missing, and how to get it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import resource
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Callable, Iterator, Optional

from ._program import path_of_program
from .errors import TidegateError

# A finding: its subject, what was seen, and what to do about it; nothing to do where all is well.
Finding = tuple[str, str, Optional[str]]

GIB = 1 << 30


def _native() -> Iterator[Finding]:
    try:
        from ._version import __version__ as version
    except ImportError as error:
        yield "tidegate", f"the native library does not load: {error}", "install the package again: pip install tidegate"
        return
    yield "tidegate", f"{version}, {Path(__file__).parent}", None
    try:
        program = path_of_program()
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30)
    except (TidegateError, OSError, subprocess.TimeoutExpired) as error:
        yield "program", str(error), "install the package again: pip install tidegate"
        return
    if said.returncode != 0:
        yield "program", f"{program} does not run: {said.stderr.strip()}", "install the package again"
    else:
        same = said.stdout.split()[-1:] == [version]
        yield "program", f"{program}, {said.stdout.strip()}", None if same else (
            "it is of another version than the library; remove the older one from PATH")


def _python() -> Iterator[Finding]:
    here = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    yield "python", here, None if sys.version_info >= (3, 10) else "3.10 or newer is needed"
    for name, use, needed in (("numpy", "arrays", True), ("nanobind-backend", "the native library", True),
                              ("cloudpickle", "tidegate.spawn", True), ("torch", "tidegate.torch", False),
                              ("jax", "tidegate.jax", False), ("optax", "tidegate.jax", False),
                              ("ray", "tidegate.ray", False)):
        try:
            yield name, importlib.metadata.version(name), None
        except importlib.metadata.PackageNotFoundError:
            yield name, f"not installed; {use} needs it", f"pip install {name}" if needed else None


def _memory() -> Iterator[Finding]:
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _number(Path("/sys/fs/cgroup/memory.max"))
    bound = f", of which this group may use {limit / GIB:.1f}" if limit is not None and limit < pages else ""
    yield "memory", f"{pages / GIB:.1f} GiB{bound}, {os.cpu_count()} processors", None
    try:
        shm = shutil.disk_usage("/dev/shm")
        yield "/dev/shm", f"{shm.free / GIB:.1f} of {shm.total / GIB:.1f} GiB free", (
            None if shm.free >= GIB // 4 else "shared memory is small; in a container give it more (--shm-size=1g)")
    except OSError as error:
        yield "/dev/shm", str(error), "mount a tmpfs there"


def _limits() -> Iterator[Finding]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield "open files", f"{soft}, at most {hard}", (
        None if hard >= 4096 else "large clusters need more: raise the hard limit (ulimit -Hn, LimitNOFILE)")
    maps = _number(Path("/proc/sys/vm/max_map_count"))
    if maps is not None:
        yield "vm.max_map_count", str(maps), None if maps >= 65530 else "sysctl vm.max_map_count=65530"


def _transports() -> Iterator[Finding]:
    try:
        descriptor = os.memfd_create("tidegate-doctor")
        os.close(descriptor)
        yield "shared memory", "memfd works", None
    except OSError as error:
        yield "shared memory", f"memfd_create: {error}", "Linux 3.17 or newer, and a sandbox that allows it, is needed"
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            with socket.create_connection(server.getsockname()[:2], timeout=5):
                yield "tcp", "loopback works", None
    except OSError as error:
        yield "tcp", f"loopback: {error}", "bring the loopback interface up (ip link set lo up)"
    devices = sorted(p.name for p in Path("/sys/class/infiniband").glob("*"))
    yield "rdma", ", ".join(devices) or "no device; transport: rdma cannot be used here", None


def _number(path: Path) -> Optional[int]:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def main(arguments: list[str]) -> int:
    """Prints the findings; returns 0 if nothing that is needed is missing."""
    if arguments:
        print("usage: python -m tidegate doctor", file=sys.stderr)
        return 2
    groups: list[Callable[[], Iterator[Finding]]] = [_native, _python, _memory, _limits, _transports]
    wrong = 0
    for group in groups:
        for subject, seen, remedy in group():
            print(f"{'!' if remedy else ' '} {subject:18} {seen}")
            if remedy:
                wrong += 1
                print(f"  {'':18} -> {remedy}")
    print("all is well" if wrong == 0 else f"{wrong} to be looked at, marked with !")
    return 1 if wrong else 0
