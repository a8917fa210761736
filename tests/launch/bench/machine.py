"""What a reader must know of the machine and of the versions to place a figure."""

import os
import pathlib
import platform
import re
import subprocess

PACKAGES = ["libucx0", "libcaf-dev", "libgloo0", "openmpi-bin", "mpich", "g++"]


def first_line(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return ""
    return done.stdout.strip().split("\n")[0]


def read(path):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return "unknown"


def cpu_model():
    found = re.search(r"^model name\s*:\s*(.*)$", read("/proc/cpuinfo"), re.MULTILINE)
    return found.group(1) if found else platform.machine()


def describe(source, packages=tuple(PACKAGES)):
    """Names and values, in the order to show them."""
    memory = re.search(r"MemTotal:\s*(\d+)", read("/proc/meminfo"))
    versions = [f"{name} {version}" for name in packages
                if (version := first_line(["dpkg-query", "-W", "-f", "${Version}", name]))]
    commit = first_line(["git", "-C", str(source), "rev-parse", "--short=12", "HEAD"])
    changed = first_line(["git", "-C", str(source), "status", "--porcelain", "--untracked-files=no"])
    return {
        "processor": f"{cpu_model()}, {len(os.sched_getaffinity(0))} cores",
        "last-level cache": read("/sys/devices/system/cpu/cpu0/cache/index3/size"),
        "memory": f"{int(memory.group(1)) / (1 << 20):.1f} GiB" if memory else "unknown",
        "huge pages": read("/sys/kernel/mm/transparent_hugepage/enabled"),
        "kernel": platform.release(),
        "TCP congestion control": read("/proc/sys/net/ipv4/tcp_congestion_control"),
        "packages": ", ".join(versions),
        "commit": commit + (" and changes that are not committed" if changed else ""),
    }
