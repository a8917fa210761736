"""Runs every peer's driver that was built, with tiny sizes: its result is verified, and a bad request is
refused. Skipped for libraries that are not there."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import processes
import systems

BUILD = pathlib.Path(os.environ["TIDEGATE_BUILD"])


class PeersTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tidegate-peers-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, name):
        variants = systems.variants(BUILD, name)
        if not variants:
            self.skipTest(f"{name} was not built")
        for algorithm in sorted({variant.algorithm for variant in variants}):
            variant = next(v for v in variants if v.algorithm == algorithm)
            with self.subTest(algorithm=algorithm):
                work = systems.Work(workers=2, shards=1, bytes=40000, optimizer="adam", iterations=4, warmup=2)
                result = systems.measure(variant, work, self.folder, seconds=60)
                self.assertEqual(result["verified"], 2 * (4 + 2))
                self.assertEqual(len(result["seconds"]), 4)
                self.assertTrue(all(s > 0 for s in result["seconds"]))
                self.assertGreater(result["cpu_seconds"], 0)

    def test_gloo(self):
        self.check("gloo")

    def test_openmpi(self):
        self.check("openmpi")

    def test_mpich(self):
        self.check("mpich")

    def test_a_bad_request_is_refused(self):
        program = BUILD / "tests/bench_gloo"
        if not program.exists():
            self.skipTest("gloo was not built")
        for words in (["--bytes", "7"], ["--rank", "2", "--ranks", "2"], ["--optimizer", "lion"], ["--bytes"]):
            with self.subTest(words=words):
                ended = processes.run([[str(program), "--arena", str(self.folder / "a"), *words]], {}, 10)
                self.assertEqual(ended.codes, [2])
                self.assertIn("allowed", ended.errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
