"""The example of rows by id on real data: the accuracy that it promises, and the same bits when processes are killed."""

import json
import tempfile
import unittest

from cluster import *

EXAMPLE = SOURCE / "examples/languages"
MISSING = 77
KILLS = ("{clock 20: kill worker-languages-1, clock 40: kill shard-0, clock 60: kill coordinator-0, "
         "clock 75: kill worker-languages-0}")


class Languages(ClusterTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tidegate-languages-")
        cls.addClassCleanup(folder.cleanup)
        cls.data = pathlib.Path(folder.name)
        prepared = subprocess.run([sys.executable, "-B", EXAMPLE / "prepare.py", "--output", cls.data])
        if prepared.returncode == MISSING:
            raise unittest.SkipTest("Debian's packages cannot be had")
        assert prepared.returncode == 0

    def train(self, epochs, *arguments):
        command = json.dumps(["languages", str(self.data), epochs])
        run = self.run_to_end(EXAMPLE / "languages.yaml", "--set", f"jobs.languages.command={command}", *arguments, seconds=300)
        return run.result()["jobs"][0]

    def test_learns_what_it_promises(self):
        self.assertGreaterEqual(self.train("3")["test_accuracy"], 0.97)

    def test_has_the_same_bits_when_processes_are_killed(self):
        calm = self.train("1")
        rough = self.train("1", "--set", f"faults.at={KILLS}")
        self.assertEqual(rough["parameters_sha256"], calm["parameters_sha256"])
        self.assertEqual(rough["test_accuracy"], calm["test_accuracy"])

    def test_says_what_is_missing(self):
        command = json.dumps(["languages", str(self.data / "nowhere"), "1"])
        run = self.run_to_end(EXAMPLE / "languages.yaml", "--set", f"jobs.languages.command={command}", expect=1)
        self.assertIn("train.tsv: no such file; examples/languages/prepare.py writes it", run.output)


main()
