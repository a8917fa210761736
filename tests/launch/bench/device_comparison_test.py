"""The table of scripts/bench_device, from made-up figures, and the script where there is no GPU."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import device_comparison

SOURCE = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ["TIDEGATE_BUILD"])
PEERS = pathlib.Path(__file__).resolve().parent / "peers/torch_step.py"
ARRAY = 1 << 20


def ours(path, optimizer, inputs, chunk, arrays, seconds):
    return {"path": path, "optimizer": optimizer, "inputs": inputs, "chunk_bytes": chunk, "bytes_moved": arrays * ARRAY,
            "share": 0.9, "seconds": seconds}


def made_up():
    tidegate = {"bytes": ARRAY, "steps": [ours("kernel", "sgd", 2, 0, 4, [1e-3, 2e-3, 3e-3]),
                                          ours("queue", "sgd", 2, 256 << 10, 4, [4e-3]),
                                          ours("kernel", "momentum", 2, 0, 6, [5e-3])]}
    slower = {"bytes": ARRAY, "steps": [{**step, "seconds": [s * 2 for s in step["seconds"]]}
                                        for step in tidegate["steps"]]}
    torch = {"steps": [{"optimizer": "sgd", "inputs": 2, "variant": way, "seconds": [seconds], "copy_seconds": [2e-3]}
                       for way, seconds in (("sum", 9e-3), ("add", 6e-3))]}
    nccl = {"steps": [{"optimizer": "sgd", "inputs": ranks, "seconds": [6e-3]} for ranks in (1, 2)]}
    return {"tidegate": [tidegate, slower, tidegate], "torch": [torch], "nccl": [nccl]}


class Rows(unittest.TestCase):
    def test_times_are_compared_with_the_kernel_of_the_same_work(self):
        rows = device_comparison.rows_of(made_up())
        self.assertEqual([(row["way"], row["optimizer"], row["inputs"]) for row in rows],
                         [("Tidegate, kernel", "sgd", 2), ("Tidegate, queue, chunks of 256 KiB", "sgd", 2),
                          ("torch, fused, add", "sgd", 2), ("NCCL all-reduce, ranks: 2", "sgd", 2),
                          ("Tidegate, kernel", "momentum", 2), ("NCCL all-reduce, ranks: 1", "sgd", 1)])
        kernel, queue, torch, nccl, _, alone = rows
        self.assertEqual((kernel["seconds"], kernel["seconds_min"], kernel["seconds_max"]), (2e-3, 2e-3, 4e-3))
        self.assertEqual([kernel["ratio"], queue["ratio"], torch["ratio"], nccl["ratio"], alone["ratio"]],
                         [1, 2, 3, 3, None])
        # Four arrays are moved, and a copy of two takes 2 ms.
        self.assertAlmostEqual(torch["share"], 4 / 2 * 2e-3 / 6e-3)

    def test_parts_that_are_missing_leave_their_rows_out(self):
        parts = made_up()
        del parts["tidegate"], parts["nccl"]
        rows = device_comparison.rows_of(parts)
        self.assertEqual([(row["way"], row["ratio"], row["share"]) for row in rows], [("torch, fused, add", None, None)])
        self.assertIn("| - ", device_comparison.markdown(rows))
        self.assertEqual(device_comparison.rows_of({}), [])


@unittest.skipUnless(os.environ.get("TIDEGATE_TORCH_PYTHON"), "no Python with torch is named by TIDEGATE_TORCH_PYTHON")
class Peers(unittest.TestCase):
    """The programs that need torch, on the CPU: that they run, and that their figures become rows."""

    def measure(self, *arguments):
        done = subprocess.run([os.environ["TIDEGATE_TORCH_PYTHON"], "-B", PEERS, *arguments, "--device", "cpu",
                               "--bytes", "4096", "--repeat", "1"], capture_output=True, text=True, timeout=200,
                              check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout.strip().split("\n")[-1])

    def test_sums_and_exchanges_become_rows(self):
        rows = device_comparison.rows_of({"torch": [self.measure("sums", "--inputs", "2,3,1")],
                                          "nccl": [self.measure("allreduce", "--ranks", "1,2")]})
        found = sorted((row["optimizer"], row["inputs"], row["way"].split(",")[0].split(":")[0]) for row in rows)
        self.assertEqual(found, [("adam", 1, "NCCL all-reduce"), ("adam", 2, "NCCL all-reduce"), ("adam", 2, "torch"),
                                 ("sgd", 1, "NCCL all-reduce"), ("sgd", 1, "torch"), ("sgd", 2, "NCCL all-reduce"),
                                 ("sgd", 2, "torch"), ("sgd", 3, "torch")])
        for row in rows:
            self.assertTrue(0 < row["seconds"] < math.inf)


class Script(unittest.TestCase):
    def run_script(self, *arguments):
        return subprocess.run([sys.executable, "-B", SOURCE / "scripts/bench_device", "--build", BUILD, *arguments],
                              capture_output=True, text=True, timeout=200, check=False,
                              env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})

    def test_without_a_gpu_each_part_says_what_it_lacks(self):
        done = self.run_script()
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        lines = done.stdout.strip().split("\n")
        self.assertEqual(len(lines), 4, done.stdout)
        self.assertRegex(lines[0], "^not measured: tidegate: tidegate: cuda:0")
        self.assertRegex(lines[1], "^not measured: exchange: tidegate: cuda:0")
        self.assertRegex(lines[2], "^not measured: torch: torch_step: torch")
        self.assertRegex(lines[3], "^not measured: nccl: torch_step: torch")

    def test_our_part_runs_on_an_emulated_device(self):
        with tempfile.TemporaryDirectory(prefix="tidegate-bench-device-test-") as folder:
            file = pathlib.Path(folder) / "device.json"
            done = self.run_script("--device", "emulated:3", "--bytes", "64KiB", "--inputs", "2", "--ranks", "1,2",
                                   "--rounds", "2", "--repeat", "1", "--json", file)
            self.assertEqual(done.returncode, 77, done.stdout + done.stderr)  # torch knows no such device
            found = json.loads(file.read_text())
        self.assertEqual(len(found["parts"]["tidegate"]), 2)
        self.assertEqual(len(found["not_measured"]), 2)
        self.assertEqual({row["inputs"] for row in found["rows"]}, {1, 2})
        for row in found["rows"]:
            self.assertTrue(0 < row["seconds_min"] <= row["seconds"] <= row["seconds_max"])
            exchanges = row["way"].startswith("Tidegate, exchange, workers")
            if row["ratio"] is not None or not exchanges:
                self.assertTrue(0 < row["ratio"] < math.inf, row)
            self.assertTrue(row["share"] is None if exchanges else 0 < row["share"] < math.inf, row)
        self.assertEqual({(row["optimizer"], row["inputs"]) for row in found["rows"] if "exchange" in row["way"]},
                         {("sgd", 1), ("sgd", 2), ("adam", 1), ("adam", 2)})
        self.assertTrue(re.search(r"^\| sgd +\| 2 +\| Tidegate, kernel +\|", done.stdout, re.MULTILINE), done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
