"""The systems under measurement and how each is started: ours, gloo, OpenMPI, MPICH. A variant is a system with
one choice of its settings; whoever compares gives a peer several and counts the best."""

import dataclasses
import json
import os
import pathlib
import shutil
import tempfile

import processes

# glibc gives large buffers back to the kernel after each use; without these, peers pay for fresh pages
# in every exchange.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TRIM_THRESHOLD_": "4294967296",
               "MALLOC_TOP_PAD_": "268435456"}


@dataclasses.dataclass(frozen=True)
class Work:
    workers: int
    shards: int
    bytes: int  # of one worker's gradient
    optimizer: str = "sgd"
    iterations: int = 10
    warmup: int = 3
    transport: str = "auto"  # of ours
    pin: str = "auto"


@dataclasses.dataclass(frozen=True)
class Variant:
    system: str
    name: str  # of the settings
    program: pathlib.Path
    algorithm: str = ""  # a word of the driver
    environment: tuple = ()  # pairs
    options: tuple = ()  # of mpirun


class Failed(Exception):
    """A measurement that gave no result; the message says why."""


def crowded(work):
    return work.workers > len(os.sched_getaffinity(0))


def peer_words(variant, work, folder):
    return [str(variant.program), "--arena", str(folder / "arena"), "--bytes", str(work.bytes),
            "--iterations", str(work.iterations), "--warmup", str(work.warmup), "--optimizer", work.optimizer,
            "--algorithm", variant.algorithm, "--pin", "none" if work.pin == "none" else "auto"]


def commands(variant, work, folder):
    """The command lines of one measurement, all to be started at once; the first prints the result."""
    words = peer_words(variant, work, folder)
    if variant.system == "tidegate":
        return [[str(variant.program), "bench", "exchange", "--workers", str(work.workers),
                 "--shards", str(work.shards), "--bytes", str(work.bytes), "--optimizer", work.optimizer,
                 "--transport", work.transport, "--iterations", str(work.iterations),
                 "--warmup", str(work.warmup), "--pin", work.pin, "--json", "-", *variant.options]]
    if variant.system == "gloo":
        store = folder / "store"
        return [words + ["--rank", str(rank), "--ranks", str(work.workers), "--store", str(store)]
                for rank in range(work.workers)]
    if variant.system == "openmpi":
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        crowd = ["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"] if crowded(work) else ["--oversubscribe"]
        return [["mpirun.openmpi", *root, "--bind-to", "none", *crowd, *variant.options, "-np", str(work.workers),
                 *words]]
    return [["mpiexec.mpich", *variant.options, "-n", str(work.workers), *words]]


def measure(variant, work, folder, seconds):
    """One measurement: {seconds: [...], verified, cpu_seconds}. Raises Failed."""
    with tempfile.TemporaryDirectory(prefix="run-", dir=folder) as name:
        here = pathlib.Path(name)
        (here / "store").mkdir()
        environment = {**KEEP_MEMORY, **dict(variant.environment), "TMPDIR": name}
        ended = processes.run(commands(variant, work, here), environment, seconds)
    if not ended.ok:
        raise Failed(ended.why())
    try:
        result = json.loads(ended.output)
    except ValueError as error:
        raise Failed(f"no result: {error}") from error
    if variant.system == "tidegate":
        result = result["sizes"][0]
    return {"seconds": result["seconds"], "verified": result["verified"],
            "cpu_seconds": result["workers_cpu_seconds"] + result.get("servers_cpu_seconds", 0),
            "payload_bytes_copied": result.get("payload_bytes_copied")}


def gloo(program):
    return [Variant("gloo", algorithm, program, algorithm)
            for algorithm in ("ring", "bcube", "halving_doubling", "ring_chunked")]


def openmpi(program):
    """Single-copy over CMA is the default; the collective algorithms are those of coll/tuned for all-reduce."""
    found = []
    for copy, copy_options in (("cma", ()), ("no cma", ("--mca", "btl_vader_single_copy_mechanism", "none"))):
        for algorithm in ("allreduce", "separate", "reduce_scatter"):
            found.append(Variant("openmpi", f"{algorithm}, {copy}", program, algorithm, options=copy_options))
        for number, name in ((3, "recursive doubling"), (4, "ring"), (5, "segmented ring"), (6, "Rabenseifner")):
            tuned = ("--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm",
                     str(number))
            found.append(Variant("openmpi", f"allreduce, {copy}, {name}", program, "allreduce",
                                 options=copy_options + tuned))
    found.append(Variant("openmpi", "allreduce, pml ucx", program, "allreduce",
                         (("OMPI_MCA_opal_common_ucx_opal_mem_hooks", "0"),),
                         ("--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any",
                          "--mca", "opal_common_ucx_devices", "any")))
    return found


def mpich(program):
    found = [Variant("mpich", algorithm, program, algorithm)
             for algorithm in ("allreduce", "separate", "reduce_scatter")]
    for algorithm in ("recursive_doubling", "reduce_scatter_allgather"):
        found.append(Variant("mpich", f"allreduce, {algorithm}", program, "allreduce",
                             (("MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM", algorithm),
                              ("MPIR_CVAR_DEVICE_COLLECTIVES", "none"))))
    found.append(Variant("mpich", "allreduce, no cma", program, "allreduce", (("UCX_TLS", "posix,sysv,self"),)))
    found.append(Variant("mpich", "reduce_scatter, no cma", program, "reduce_scatter",
                         (("UCX_TLS", "posix,sysv,self"),)))
    return found


PEERS = {"gloo": (gloo, None), "openmpi": (openmpi, "mpirun.openmpi"), "mpich": (mpich, "mpiexec.mpich")}


def variants(build, system):
    """All variants of a system that this build and this machine have; none when it is not there."""
    if system == "tidegate":
        return [Variant("tidegate", "as shipped", build / "bin/tidegate")]
    make, starter = PEERS[system]
    program = build / "tests" / f"bench_{system}"
    if not program.exists() or (starter and not shutil.which(starter)):
        return []
    return make(program)
