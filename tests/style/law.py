"""The law of includes, as data: docs/architecture.md says why, includes.py enforces it, law_table.py prints it.

A folder may include its own headers and those of the folders that its row names, with all that lie below them."""

BASE = "runtime/base"
TRANSPORT = [BASE, "runtime/memory", "runtime/transport"]
# What every role of policies/ builds on.
COMMON = [f"policies/{folder}" for folder in
          ("model", "placement", "checkpoint", "protocol", "consistency", "supervision", "sending", "attribution")]

# Folder -> the folders that it may include. The longest prefix of a path decides which row it obeys.
PROJECT = {
    "include": [],
    BASE: ["include"],
    "runtime/heartbeat": [BASE],
    "runtime/recorder": [BASE],
    "runtime/memory": [BASE],
    "runtime/process": [BASE],
    "runtime/sockets": [BASE],
    "runtime/storage": [BASE],
    "runtime/objects": [BASE, "runtime/storage"],
    "runtime/transport": [BASE, "runtime/memory"],
    "runtime/streams": [*TRANSPORT, "runtime/sockets"],
    "runtime/ucx": [*TRANSPORT, "runtime/process"],
    "runtime/optimizers": [BASE],
    "runtime/kernels": [BASE, "runtime/memory", "runtime/optimizers", "runtime/functions"],
    "runtime/kernels/cuda": [BASE, "runtime/optimizers", "runtime/kernels"],
    "runtime/batches": [BASE, "runtime/optimizers", "runtime/kernels"],
    "runtime/functions": [BASE, "runtime/optimizers", "include"],
    "runtime/filters": [BASE, "include"],
    "runtime/rows": [BASE, "runtime/memory", "runtime/optimizers", "runtime/functions", "runtime/kernels"],
    "runtime/parts": [BASE, "runtime/memory", "runtime/optimizers", "runtime/kernels", "runtime/rows",
                      "runtime/batches"],
    # The seam to devices, its backends, what opens them by name, and what works on any.
    "runtime/device": [BASE, "runtime/optimizers", "runtime/kernels"],
    "runtime/device/emulated": [BASE, "runtime/memory", "runtime/optimizers", "runtime/kernels", "runtime/device"],
    "runtime/device/cuda": [BASE, "runtime/process", "runtime/optimizers", "runtime/kernels", "runtime/device"],
    "runtime/device/open": [BASE, "runtime/device"],
    "runtime/device/updates": [BASE, "runtime/optimizers", "runtime/kernels", "runtime/device"],
    "runtime/device/rows": [BASE, "runtime/memory", "runtime/optimizers", "runtime/kernels", "runtime/rows",
                            "runtime/device"],

    "policies/model": [BASE, "runtime/optimizers"],
    "policies/attribution": [BASE, "policies/model"],
    "policies/placement": [BASE, *COMMON[:1]],
    "policies/checkpoint": [BASE, *COMMON[:2]],
    "policies/protocol": [BASE, *COMMON[:3]],
    "policies/consistency": [BASE, *COMMON[:4]],
    "policies/supervision": [BASE, *COMMON[:4]],
    "policies/sending": [BASE, *COMMON[:4]],
    "policies/shard": [BASE, *COMMON],
    "policies/aggregator": [BASE, *COMMON, "policies/shard"],
    "policies/worker": [BASE, *COMMON],
    "policies/coordinator": [BASE, *COMMON],
    "policies/launcher": [BASE, *COMMON],
    "policies/agent": [BASE, *COMMON],

    # Shells, which the simulator runs, too.
    "actors/seam": [*TRANSPORT, "runtime/functions", *COMMON, "policies/shard"],
    "actors/shard": [*TRANSPORT, *COMMON, "policies/shard", "actors/seam"],
    "actors/aggregator": [*TRANSPORT, *COMMON, "policies/shard", "policies/aggregator", "actors/seam",
                          "actors/shard"],
    "actors/client": [*TRANSPORT, *COMMON, "policies/worker", "actors/seam"],
    "actors/coordinator": [BASE, *COMMON, "policies/coordinator"],
    "actors/membership": [BASE, "policies/supervision"],
    # What processes have behind the shells' seams.
    "actors/environment": [*TRANSPORT, "runtime/streams", "runtime/ucx", "runtime/functions", *COMMON, "actors/seam"],
    "actors/store": [*TRANSPORT, "runtime/batches", "runtime/parts", "runtime/functions", "runtime/kernels", "runtime/storage", "policies", "include", "actors/seam",
                     "actors/shard", "actors/aggregator"],
    "actors/chunks": [*TRANSPORT, "runtime/kernels", "runtime/storage", "runtime/optimizers", "runtime/functions", "runtime/device",
                      "policies", "actors/seam", "actors/shard", "actors/store"],
    "actors/device": [*TRANSPORT, "runtime/kernels", "runtime/optimizers", "runtime/device", *COMMON,
                      "policies/worker"],
    "actors/control": [*TRANSPORT, "runtime/sockets", *COMMON, "actors/seam", "actors/membership", "actors/environment"],
    "actors/reactor": [*TRANSPORT, "runtime/process", "runtime/recorder", *COMMON, "actors/seam", "actors/environment", "actors/control"],
    "actors/session": ["runtime", "include", *COMMON, "policies/worker", "actors/seam", "actors/client",
                       "actors/environment", "actors/store", "actors/device", "actors/control", "actors/reactor"],
    "actors/node": ["runtime", "policies", "actors/seam", "actors/shard", "actors/aggregator", "actors/coordinator",
                    "actors/membership", "actors/environment", "actors/store", "actors/chunks", "actors/control",
                    "actors/reactor"],

    # The launcher's shells, which the simulator runs, too.
    "launch/shell": [BASE, *COMMON, "policies/launcher", "policies/agent"],
    "launch/text": [BASE, "policies/model", "policies/attribution"],
    "launch/options": [BASE, "policies/model", "launch/text"],
    "launch/config": [BASE, "runtime/optimizers", "runtime/device", *COMMON, "launch/text"],
    "launch/manual": [BASE, "policies/model", "launch/text", "launch/config"],
    "launch/plan": [BASE, *COMMON, "actors/environment", "launch/text", "launch/config"],
    "launch/processes": [BASE, "runtime/heartbeat", "runtime/process", "runtime/recorder", *COMMON, "policies/agent", "policies/launcher",
                         "policies/worker", "launch/shell", "launch/text", "launch/config", "launch/plan"],
    "launch/agents": [BASE, "runtime/process", "runtime/storage", "runtime/objects", *COMMON, "policies/launcher", "launch/shell", "launch/text", "launch/config",
                      "launch/plan", "launch/processes"],
    "launch/run": [BASE, "runtime/device", "runtime/functions", "runtime/process", "runtime/sockets", "runtime/storage", "runtime/objects", *COMMON, "policies/launcher",
                   "actors/environment", "launch/shell", "launch/text", "launch/config", "launch/plan", "launch/processes",
                   "launch/agents", "launch/monitor", "launch/trace", "launch/screen"],
    # What answers HTTP requests of a run, and posts its metrics, and `tidegate top`.
    "launch/monitor": [BASE, "runtime/objects", "launch/text"],
    # What processes did, moment by moment, for viewers of traces.
    "launch/trace": [BASE, "policies/model", "launch/text"],
    # A run as lines for a screen.
    "launch/screen": [BASE, "launch/text"],
    "launch/top": [BASE, "policies/model", "policies/attribution", "launch/text", "launch/screen", "launch/run"],
    "launch/page": [BASE, "policies/model", "policies/attribution", "launch/text", "launch/plan", "launch/processes", "launch/monitor", "launch/run"],
    # `tidegate submit`: what is given to another system's queue.
    "launch/submit": [BASE, *COMMON, "launch/text", "launch/config", "launch/plan", "launch/processes"],
    # `tidegate door` and `tidegate relay`: agents on hosts that nobody logs in to.
    "launch/door": [BASE, "runtime/sockets", "policies/model", "launch/text", "launch/options", "launch/config", "launch/plan", "launch/processes"],
    # `tidegate render kubernetes`: a cluster file as objects of another system.
    "launch/kubernetes": [BASE, *COMMON, "launch/text", "launch/options", "launch/config", "launch/plan", "launch/agents", "launch/door"],
    # `tidegate bench` measures all that lies below.
    "launch/bench": ["runtime", "include", "policies", "actors", "launch/text", "launch/config", "launch/plan",
                     "launch/processes", "launch/run"],
    # `tidegate chaos`: a program beside a run; it sees what a run leaves.
    "launch/chaos": [BASE, "runtime/process", *COMMON, "launch/text", "launch/config", "launch/plan", "launch/processes",
                     "launch/run"],
    # The simulator: cores and shells in one thread.
    "launch/simulate/cluster": [*TRANSPORT, "runtime/batches", "runtime/functions", "runtime/kernels", "runtime/rows", "policies",
                                "actors/seam", "actors/shard", "actors/aggregator", "actors/client", "actors/coordinator", "actors/membership",
                                "actors/store", "launch/shell"],
    "launch/simulate/scale": [BASE, *COMMON, "launch/simulate/cluster"],
    "launch/simulate": [BASE, *COMMON, "launch/text", "launch/config", "launch/bench"],
    "launch/cli": [BASE, "runtime/heartbeat", "runtime/recorder", "runtime/sockets", "runtime/storage", "runtime/objects", *COMMON, "actors/environment", "actors/control",
                   "actors/node", "launch"],

    # What an example includes must be there for a user who has only the installed package.
    "examples": ["include"],
    "tests": ["runtime", "include", "policies", "actors", "launch", "examples"],
    "python": ["include"],
}

# Headers of other projects, by the start of their path, and the folders that keep them to themselves. Tests of
# these folders (tests/FOLDER) may include them, and the folders of TESTS_TOO.
OWNED = {
    "caf/": ["actors/control", "actors/reactor", "actors/session", "actors/node"],
    "ucp/": ["runtime/ucx"],
    "ucm/": ["runtime/ucx"],
    "ucs/": ["runtime/ucx"],
    "uct/": ["runtime/ucx"],
    "yaml-cpp/": ["launch/config", "launch/kubernetes"],
    "httplib": ["launch/monitor"],
    "ncurses": ["launch/top"],
    "boost/program_options": ["launch/cli", "launch/bench", "launch/chaos", "launch/door", "launch/kubernetes",
                              "launch/options"],
    "cuda": ["runtime/kernels/cuda", "runtime/device/cuda"],
    "nanobind/": ["python"],
    "Eigen/": ["examples"],
    "hwy/": ["runtime/kernels", "runtime/rows"],
    "sqlite3": ["runtime/storage"],
    "curl/": ["runtime/objects", "launch/monitor"],
    "pugixml": ["runtime/objects"],
}

TESTS_TOO = {
    "caf/": ["tests/support", "tests/actors"],  # run a whole cluster of actors in one process
}

# The public headers are found as <tidegate/...>.
INCLUDE_ROOTS = ["", "include"]
