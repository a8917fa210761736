"""The law of includes, as data. docs/architecture.md says why; includes.py enforces it."""

# A folder may include the headers of these folders, and its own. The longest prefix decides.
PROJECT = {
    "runtime/base": [],
    "runtime/heartbeat": ["runtime/base"],
    "runtime/memory": ["runtime/base"],
    "runtime/process": ["runtime/base"],
    "runtime/storage": ["runtime/base"],
    "runtime/transport": ["runtime/base", "runtime/memory"],
    "runtime/ucx": ["runtime/base", "runtime/memory", "runtime/transport"],
    "runtime/kernels": ["runtime/base", "runtime/memory"],
    "policies": ["runtime/base"],
    "actors": ["runtime", "policies"],
    # Shells of the data path, and the seams that they live behind.
    "actors/seam": ["runtime/base", "runtime/memory", "runtime/transport", "policies"],
    "actors/shard": ["runtime/base", "runtime/memory", "runtime/transport", "policies", "actors/seam"],
    "actors/aggregator": ["runtime/base", "runtime/memory", "runtime/transport", "policies", "actors/seam",
                          "actors/shard"],
    "actors/membership": ["runtime/base", "policies"],
    "actors/client": ["runtime/base", "runtime/memory", "runtime/transport", "policies", "actors/seam"],
    "actors/coordinator": ["runtime/base", "policies"],
    "launch": ["runtime/base", "runtime/heartbeat", "runtime/process", "runtime/storage", "policies", "actors"],
    # Shells of the launcher, and the seam that they live behind.
    "launch/run": ["runtime/base", "policies"],
    # Measures all that lies below.
    "launch/bench": ["runtime", "policies", "actors", "launch"],
    # `tidegate chaos`: a program beside a run; it sees what a run leaves.
    "launch/chaos": ["runtime/base", "runtime/process", "policies", "launch"],
    # `tidegate simulate`: the simulator is a library of tests/sim.
    "launch/simulate": ["runtime/base", "policies", "launch", "launch/bench", "tests/sim"],
    # What an example includes must be there for a user who has only the installed package.
    "examples": ["runtime/base", "tidegate"],
    "tests": ["runtime", "policies", "actors", "launch", "examples", "tidegate"],
    # The program runs it: it sees no test, and no actor.
    "tests/sim/scale": ["runtime/base", "policies", "tests/sim"],
    "python": ["runtime/base", "tidegate"],
}

# Headers of other projects that one folder keeps to itself, by the start of their path. Tests of that
# folder (tests/<last part of its name>) may include them too, and the folders of TESTS_TOO.
OWNED = {
    "caf/": "actors",
    "ucp/": "runtime/ucx",
    "ucs/": "runtime/ucx",
    "uct/": "runtime/ucx",
    "yaml-cpp/": "launch",
    "boost/program_options": "launch",
    "cuda": "runtime/kernels/cuda",
    "Eigen/": "examples",
    "hwy/": "runtime/kernels",
    "sqlite3": "runtime/storage",
}

# Folders within an owner's that must not include its header, nor see it through others: the
# simulator runs them without it.
FREE_OF = {
    "caf/": ["actors/seam", "actors/shard", "actors/aggregator", "actors/client",
             "actors/coordinator", "actors/membership"],
    "yaml-cpp/": ["launch/run"],
    "boost/program_options": ["launch/run"],
}

TESTS_TOO = {
    "actors": ["tests/support"],  # runs a whole cluster of actors in one process
    "runtime/kernels": ["tests/runtime"],  # chooses the vector width
}

# Folders that must not see an owned header through the headers they include either.
SHIELDED = ["runtime/base", "policies", "actors", "actors/seam", "actors/shard", "actors/aggregator", "actors/client",
            "actors/membership", "actors/coordinator", "launch", "launch/run", "examples"]

# The front door is found as <tidegate/...>.
INCLUDE_ROOTS = ["", "actors/include"]
