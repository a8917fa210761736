"""Runs `tidegate bench` with tiny sizes and looks at its JSON. Times are not judged."""

import json
import math
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

TIDEGATE = os.environ["TIDEGATE"]


class BenchTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tidegate-bench-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()

    def bench(self, *arguments, expect=0):
        done = subprocess.run([TIDEGATE, "bench", *arguments], capture_output=True, text=True, timeout=100,
                              env={**os.environ, "TMPDIR": str(self.temporary)})
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        self.assertEqual(list(self.temporary.iterdir()), [], "something is left in the temporary folder")
        return done.stdout if expect == 0 else done.stderr

    def bench_json(self, *arguments):
        return json.loads(self.bench(*arguments, "--json", "-"))


class Exchange(BenchTest):
    def test_a_run_is_verified_and_told(self):
        plot = self.folder / "plot.svg"
        found = self.bench_json("exchange", "--workers", "3", "--shards", "2", "--bytes", "4KiB,40004", "--tables",
                                "2", "--optimizer", "adam", "--iterations", "5", "--warmup", "2", "--chunk",
                                "4KiB", "--svg", str(plot))
        self.assertEqual((found["workers"], found["shards"], found["optimizer"]), (3, 2, "adam"))
        self.assertEqual([size["bytes"] for size in found["sizes"]], [4096, 40004])
        for size in found["sizes"]:
            self.assertEqual(size["verified"], 3 * (5 + 2))
            self.assertEqual(len(size["seconds"]), 5)
            self.assertTrue(0 < size["min_seconds"] <= size["median_seconds"] <= size["max_seconds"])
            self.assertGreater(size["workers_cpu_seconds"], 0)
            self.assertGreater(size["servers_cpu_seconds"], 0)
        root = xml.etree.ElementTree.fromstring(plot.read_text())
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertEqual(len(root.findall(".//{http://www.w3.org/2000/svg}circle")), 2)

    def test_every_optimizer_is_right(self):
        registry = (pathlib.Path(__file__).resolve().parents[3] / "runtime/optimizers/list.hpp").read_text()
        dense, of_rows = registry.split("#define TIDEGATE_ROW_OPTIMIZERS")
        optimizers = re.findall(r"X\((\w+), \d+\)", dense)
        self.assertGreater(len(optimizers), 5)
        for optimizer in optimizers:
            found = self.bench_json("exchange", "--bytes", "64KiB", "--optimizer", optimizer, "--iterations", "3")
            self.assertEqual(found["sizes"][0]["verified"], 2 * (3 + 3), optimizer)
        for optimizer in re.findall(r"X\((\w+), \d+\)", of_rows):
            message = self.bench("exchange", "--optimizer", optimizer, expect=2)
            self.assertIn(f"--optimizer {optimizer}; allowed: sgd, momentum", message)

    def test_over_tcp_and_to_a_file(self):
        file = self.folder / "out.json"
        table = self.bench("exchange", "--bytes", "64KiB", "--transport", "tcp", "--iterations", "3", "--pin", "none",
                           "--json", str(file))
        self.assertIn("64KiB", table)
        self.assertEqual(json.loads(file.read_text())["sizes"][0]["iterations"], 3)

    def test_bad_requests(self):
        self.assertIn("allowed: 0 to 2", self.bench("exchange", "--replicas", "3", expect=2))
        self.assertIn("core 4000", self.bench("exchange", "--pin", "4000", expect=2))

    def test_an_interrupt_ends_it_and_leaves_nothing(self):
        process = subprocess.Popen([TIDEGATE, "bench", "exchange", "--bytes", "4KiB", "--iterations", "100000"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={**os.environ, "TMPDIR": str(self.temporary)})
        self.addCleanup(process.kill)
        pids = self.wait_for_processes(4)
        process.send_signal(signal.SIGINT)
        self.assertIn("interrupted", process.communicate(timeout=30)[1])
        self.assertEqual(process.returncode, 1)
        self.assertEqual(list(self.temporary.iterdir()), [])
        for pid in pids:
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists(), pid)

    def wait_for_processes(self, count):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            for file in self.temporary.glob("*/run/pids.json"):
                try:
                    pids = [one["pid"] for one in json.loads(file.read_text())]
                except (OSError, ValueError):
                    continue
                if len(pids) == count:
                    return pids
            time.sleep(0.01)
        self.fail(f"not within 30 s: {count} processes")


class Latency(BenchTest):
    def test_percentiles_ascend(self):
        size = self.bench_json("latency", "--iterations", "20", "--warmup", "2")["sizes"][0]
        self.assertEqual((size["bytes"], size["iterations"]), (4096, 20))
        self.assertTrue(0 < size["p50_seconds"] <= size["p90_seconds"] <= size["p99_seconds"] <= size["max_seconds"])


class Plot(BenchTest):
    def test_a_series_becomes_well_formed_svg(self):
        data = {"title": "<t> & more", "series": [{"name": f"s{i}\"'", "points": [[4096, 1e-4], [1 << 30, 2.5]]}
                                                  for i in range(10)]}
        series, svg = self.folder / "series.json", self.folder / "plot.svg"
        series.write_text(json.dumps(data))
        self.bench("plot", str(series), "--svg", str(svg))
        texts = [e.text for e in xml.etree.ElementTree.fromstring(svg.read_text()).iter() if e.text]
        self.assertIn("<t> & more", texts)
        self.assertIn("s9\"'", texts)

    def test_what_is_no_series_is_refused(self):
        series = self.folder / "series.json"
        series.write_text("[]")
        self.assertIn("series", self.bench("plot", str(series), "--svg", "x", expect=2))


class Roofline(BenchTest):
    def test_every_operation_has_a_rate(self):
        found = self.bench_json("roofline", "--bytes", "64KiB", "--rounds", "1", "--threads", "1")
        operations = [one["operation"] for one in found["ceilings"]]
        self.assertEqual(operations, ["read", "copy"] + [f"{how}sum {n} + {o}" for n in (2, 4)
                                                         for o in ("sgd", "momentum", "adam") for how in ("", "fresh ")])
        self.assertTrue(all(one["gb_per_s"] > 0 for one in found["ceilings"]))
        self.assertTrue(all(one["median_seconds"] >= one["seconds"] for one in found["ceilings"]))

    def test_more_threads_than_cores_are_refused(self):
        self.assertIn("allowed: 1 to", self.bench("roofline", "--threads", "999999", expect=2))


class Rows(BenchTest):
    def test_every_operation_has_a_rate_and_what_reads_rows_a_share(self):
        for distribution in ("uniform", "zipf:0.99"):
            found = self.bench_json("rows", "--rows", "5000", "--dim", "6", "--batch", "512", "--distribution",
                                    distribution, "--repeat", "4")
            self.assertEqual((found["kind"], found["rows"], found["dim"], found["threads"]), ("rows", 5000, 6, 1))
            self.assertEqual([rate["operation"] for rate in found["rates"]],
                             ["index: insert", "index: look up", "index: look up in vain", "table: make rows",
                              "table: gather", "table: update", "table: pull and push"])
            for rate in found["rates"]:
                self.assertTrue(0 < rate["rows_per_s"] < math.inf, rate)
            for rate in found["rates"][4:]:
                self.assertEqual((len(rate["seconds"]), len(rate["roofline_seconds"])), (4, 4))
                self.assertTrue(0 < rate["share"] < math.inf, rate)
            for growth in found["growth"].values():
                self.assertTrue(0 < growth["median_seconds"] <= growth["worst_seconds"])

    def test_more_than_the_memory_is_refused(self):
        for more in ([], ["--workers", "2"]):
            self.assertIn("take fewer", self.bench("rows", "--rows", "1000000000", "--dim", "4096", *more, expect=2))

    def test_over_a_cluster_pulls_are_timed_and_values_compared(self):
        for transport, shards, distribution in (("auto", 2, "uniform"), ("tcp", 1, "zipf:0.99")):
            found = self.bench_json("rows", "--workers", "2", "--shards", str(shards), "--transport", transport,
                                    "--replicas", str(2 - shards), "--rows", "5000", "--dim", "6", "--batch", "512", "--distribution", distribution, "--repeat",
                                    "4", "--warmup", "1")
            self.assertEqual((found["kind"], found["workers"], found["shards"]), ("rows of a cluster", 2, shards))
            self.assertEqual((len(found["seconds"]), len(found["roofline_seconds"])), (4, 4))
            # When it has grown, after the pulls of the grown table, and after each round.
            self.assertEqual(found["verified"], 2 + 1 + 4)
            # Of 8 clocks and 2 workers; an id that is drawn twice in a batch counts once.
            self.assertTrue(0 < found["rows_per_round"] <= 8 * 2 * 512)
            self.assertTrue(0 < found["share"] < math.inf)
            self.assertTrue(0 < found["rows_per_servers_cpu_second"] < math.inf)
            for pulls in ("pulls_growing", "pulls_grown"):
                self.assertEqual(len(found[pulls]["seconds"]), 2 * 5)  # 512 new rows of each worker in a clock
                self.assertTrue(0 < found[pulls]["median_seconds"] <= found[pulls]["p999_seconds"])

    def test_a_cluster_that_pushes_more_than_the_rows_is_refused(self):
        message = self.bench("rows", "--workers", "3", "--rows", "1000", "--batch", "500", expect=2)
        self.assertIn("1500, or more", message)
        self.assertIn("only without a cluster", self.bench("rows", "--shards", "1", "--threads", "1", expect=2))


class Device(BenchTest):
    """On a device that is emulated: its figures are there, and say nothing."""

    def test_every_step_has_a_rate_and_a_share(self):
        found = self.bench_json("device", "--device", "emulated:3", "--bytes", "64KiB", "--inputs", "3,1", "--chunks",
                                "16KiB,64MiB", "--repeat", "2")
        self.assertEqual((found["kind"], found["device"], found["bytes"], found["repeats"]),
                         ("device", "emulated:3", 65536, 2))
        kinds = [("sgd", 3), ("sgd", 1), ("momentum", 3), ("adagrad", 3), ("adam", 3)]
        steps = [("kernel", *kind, 0) for kind in kinds]
        steps += [("queue", *kind, chunk) for chunk in (16 << 10, 64 << 20) for kind in kinds]
        steps += [("host", kind, 3, chunk) for chunk in (16 << 10, 64 << 20) for kind in ("sgd", "adam")]
        self.assertEqual([(step["path"], step["optimizer"], step["inputs"], step["chunk_bytes"])
                          for step in found["steps"]], steps)
        for step in found["steps"]:
            self.assertEqual((len(step["seconds"]), len(step["copy_seconds"])), (2, 2))
            self.assertGreaterEqual(step["batch_steps"], 1)
            for name in ("gb_per_s", "copy_gb_per_s", "share", "share_min", "share_max", "median_seconds"):
                self.assertTrue(0 < step[name] < math.inf, (step, name))
            self.assertTrue(step["share_min"] <= step["share"] <= step["share_max"])
        adam = next(step for step in found["steps"] if (step["path"], step["optimizer"]) == ("kernel", "adam"))
        self.assertEqual((adam["bytes_moved"], adam["copy_bytes"]), (65536 * (3 + 2 * 3), 65536 * 2))

    def test_a_table_is_for_people(self):
        table = self.bench("device", "--device", "emulated:0", "--bytes", "4KiB", "--inputs", "2", "--repeat", "1")
        self.assertEqual(table.split()[:3], ["path", "optimizer", "inputs"])
        self.assertEqual(len(table.strip().split("\n")), 1 + 4 + 2 * 4 + 2 * 2)

    def test_what_does_not_fit_is_said(self):
        self.assertIn("take fewer --bytes",
                      self.bench("device", "--device", "emulated:0", "--bytes", "2GiB", expect=1))

    def test_a_gpu_that_is_not_there_is_no_failure(self):
        self.assertIn("cuda:1023", self.bench("device", "--device", "cuda:1023", expect=77))


if __name__ == "__main__":
    unittest.main(verbosity=2)
