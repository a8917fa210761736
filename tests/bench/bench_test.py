"""Runs `tidegate bench` with tiny sizes and looks at its JSON. Times are not judged."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

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


class Roofline(BenchTest):
    def test_every_operation_has_a_rate(self):
        found = self.bench_json("roofline", "--bytes", "64KiB", "--rounds", "1", "--threads", "1")
        operations = [one["operation"] for one in found["ceilings"]]
        self.assertEqual(operations, ["read", "copy"] + [f"sum {n} + {o}" for n in (2, 4)
                                                         for o in ("sgd", "momentum", "adam")])
        self.assertTrue(all(one["gb_per_s"] > 0 for one in found["ceilings"]))

    def test_more_threads_than_cores_are_refused(self):
        self.assertIn("allowed: 1 to", self.bench("roofline", "--threads", "999999", expect=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
