"""The systems whose rows are measured and how each is started: ours, Redis, torch. A system is a peer over one transport,
and a variant is a system with one choice of its settings, as in systems.py."""

import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

import processes
from systems import KEEP_MEMORY, Failed, Variant

PEERS_FOLDER = pathlib.Path(__file__).resolve().parent / "peers"
FIND_SECONDS = 30
OURS = ("tidegate, shared memory", "tidegate, TCP")
# Python and its modules, besides rows.
PROCESS_BYTES = 300 << 20


@dataclasses.dataclass(frozen=True)
class Work:
    workers: int
    rows: int
    dim: int
    batch: int  # ids that a worker draws for a clock
    zipf: float = 0  # exponent; 0 is uniform
    repeat: int = 5  # rounds of eight clocks
    warmup: int = 1
    pin: str = "auto"


def distribution(work):
    return f"zipf:{work.zipf}" if work.zipf else "uniform"


def ours(build):
    return [Variant(name, "as shipped", build / "bin/tidegate", transport)
            for name, transport in zip(OURS, ("auto", "tcp"))]


def redis(python):
    """Debian's server has jemalloc, which is told to take huge pages, as ours does."""
    huge = (("MALLOC_CONF", "thp:always,metadata_thp:always"),)
    found = []
    for system, transport in (("redis, unix socket", "unix"), ("redis, TCP", "tcp")):
        for name, environment, words in (
                ("1,024 keys a command", huge, ("--keys", "1024")),
                ("128 keys a command", huge, ("--keys", "128")),
                ("16 keys a command", huge, ("--keys", "16")),
                ("128 keys, two threads", huge, ("--keys", "128", "--io-threads", "2"))):
            found.append(Variant(system, name, pathlib.Path(python), "redis_rows.py", environment,
                                 ("--transport", transport, *words)))
    return found


def torch(python):
    huge = (("THP_MEM_ALLOC_ENABLE", "1"),)
    return [Variant("torch, TCP", name, pathlib.Path(python), "torch_rows.py", environment, words)
            for name, environment, words in (("a thread a rank", huge, ("--threads", "1")),
                                             ("two threads a rank", huge, ("--threads", "2")))]


@dataclasses.dataclass(frozen=True)
class Peer:
    variants: object  # function of the Python to use
    modules: tuple
    program: str = ""
    bytes_of_row: object = None  # function of dim and the number of workers


PEERS = {"redis": Peer(redis, ("numpy",), "redis-server", lambda dim, workers: 8 * dim + 120),
         "torch": Peer(torch, ("numpy", "torch"), "", lambda dim, workers: workers * 8 * dim)}


def missing(name, python, work):
    """Why a peer cannot be measured here; empty if it can."""
    peer = PEERS[name]
    if peer.program and not shutil.which(peer.program):
        return f"{peer.program} is not installed (scripts/setup tests bench)"
    lacking = f"import importlib.util as u; print(*(n for n in {peer.modules!r} if not u.find_spec(n)))"
    try:
        done = subprocess.run([str(python), "-c", lacking], capture_output=True, text=True, timeout=FIND_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return f"{python} cannot be run: {error}"
    if done.stdout.strip():
        return f"{python} has no {', '.join(done.stdout.split())} (--python names another)"
    needed = peer.bytes_of_row(work.dim, work.workers) * work.rows + (work.workers + 1) * PROCESS_BYTES
    if needed > available_bytes():
        return f"{needed / (1 << 30):.1f} GiB of memory are needed, and {available_bytes() / (1 << 30):.1f} are there"
    return ""


def available_bytes():
    found = re.search(r"MemAvailable:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())
    return int(found.group(1)) << 10


def commands(variant, work, folder):
    """The command lines of a measurement, all to be started at once; the first prints the result."""
    words = [f"--{name}={value}" for name, value in (("rows", work.rows), ("dim", work.dim), ("batch", work.batch),
                                                     ("workers", work.workers), ("repeat", work.repeat),
                                                     ("warmup", work.warmup))]
    if variant.system in OURS:
        return [[str(variant.program), "bench", "rows", *words, f"--distribution={distribution(work)}",
                 f"--transport={variant.algorithm}", f"--pin={work.pin}", "--json=-"]]
    words = [str(variant.program), "-B", str(PEERS_FOLDER / variant.algorithm), *words, f"--zipf={work.zipf}",
             f"--folder={folder}", f"--pin={work.pin}", *variant.options]
    if variant.algorithm == "torch_rows.py":
        return [words + [f"--rank={rank}"] for rank in range(work.workers)]
    return [words]


def measure(variant, work, folder, seconds):
    """A measurement, as figures_of. Raises Failed."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=folder) as name:
        environment = {**KEEP_MEMORY, "GLOO_SOCKET_IFNAME": "lo", **dict(variant.environment), "TMPDIR": name}
        ended = processes.run(commands(variant, work, pathlib.Path(name)), environment, seconds)
    if not ended.ok:
        raise Failed(ended.why())
    try:
        return figures_of(json.loads(ended.output), work)
    except (ValueError, KeyError) as error:
        raise Failed(f"no result: {error!r}") from error


def figures_of(result, work):
    """Rates in rows per second of each of the repeats, and the rows that a CPU second has served. `result`: what a
    driver prints. Raises Failed if values were not compared in every round."""
    if result["verified"] < work.repeat + work.warmup or len(result["seconds"]) != work.repeat:
        raise Failed(f"{len(result['seconds'])} rounds were measured, and {result['verified']} verified")
    rows = result["rows_per_round"] * work.repeat
    servers = result.get("servers_cpu_seconds")
    figures = {"rows_per_round": result["rows_per_round"],
               "rates": [result["rows_per_round"] / seconds for seconds in result["seconds"]],
               "rows_per_servers_cpu_second": servers and rows / servers,
               "rows_per_cpu_second": rows / (result["workers_cpu_seconds"] + (servers or 0)),
               "verified": result["verified"], "versions": result.get("versions", {})}
    if "pushes_lost" in result:
        figures["lost"] = result["pushes_lost"] / max(1, result["pushes_compared"])
    return figures
