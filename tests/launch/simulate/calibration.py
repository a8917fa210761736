"""The model beside measured runs of one machine: rates from two configurations, the others predicted. Standard library
only; scripts/calibrate measures, calibration_test.py compares what it recorded."""

import json
import pathlib
import statistics
import subprocess
import tempfile

# Workers and shards of what the rates come from, and of what is predicted from them.
KNOWN = [(1, 1), (2, 1)]
PREDICTED = [(3, 1), (4, 1), (2, 2), (4, 2)]
# Of the exchanges of a round: what else runs on a machine only ever adds to the fastest, and to all of them.
STATISTICS = ["min", "median"]


def name(configuration):
    return f"{configuration[0]}x{configuration[1]}"


def measured(recorded, configuration, statistic):
    """Seconds of an exchange, the median of the rounds."""
    return statistics.median(one[statistic] for one in recorded["exchange"][name(configuration)])


def rates(recorded, statistic):
    """What scale.shard and scale.hosts.memory are called, in bytes per second."""
    one, two = (measured(recorded, configuration, statistic) for configuration in KNOWN)
    size = recorded["bytes"]
    per_gradient = two - one
    step = one - per_gradient
    gain = recorded["roofline"]["2"] / recorded["roofline"]["1"]
    return {"sum": size / per_gradient, "step": size / step, "memory": size / per_gradient * gain}


def scale_file(recorded, configuration, statistic):
    rate = {key: f"{value / 1e9:.6f}GB/s" for key, value in rates(recorded, statistic).items()}
    return f"""scale:
  workers: {configuration[0]}
  shards: {configuration[1]}
  clocks: 10
  one_host: true
  parameters: {recorded["bytes"]}
  chunk_bytes: 256KiB
  compute: {{time: 0}}
  hosts: {{memory: {rate["memory"]}}}
  shard: {{sum: {rate["sum"]}, step: {rate["step"]}}}
"""


def predicted(tidegate, recorded, configuration, statistic):
    """Seconds of an exchange by `tidegate simulate`."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "scale.yaml"
        path.write_text(scale_file(recorded, configuration, statistic))
        done = subprocess.run([tidegate, "simulate", path, "--json", "-"], capture_output=True, text=True, timeout=60,
                              check=True)
    one = json.loads(done.stdout)["runs"][0]
    return one["seconds"] / one["clocks"]


def compare(tidegate, recorded, statistic):
    """(configuration, measured, predicted) of all."""
    return [(configuration, measured(recorded, configuration, statistic),
             predicted(tidegate, recorded, configuration, statistic)) for configuration in KNOWN + PREDICTED]
