#!/usr/bin/env python3
"""`tidegate simulate` as a user runs it: the example runs, the same seed gives the same bytes, and mistakes are named."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

TIDEGATE = os.environ["TIDEGATE"]
EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples/scale.yaml"
SMALL = """scale:
  workers: [4, 16]
  policies: [bsp, async]
  clocks: 50
  compute: {lognormal: 0.3}
  hosts: {link: 10Gbit/s}
"""


def simulate(*arguments):
    return subprocess.run([TIDEGATE, "simulate", *map(str, arguments)], capture_output=True, text=True, timeout=100,
                          check=False)


class simulate_command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "scale.yaml"
        self.file.write_text(SMALL)

    def test_the_same_seed_gives_the_same_bytes(self):
        one, same, other = (simulate(self.file, "--json", "-", "--seed", seed).stdout for seed in (1, 1, 2))
        self.assertEqual(len(json.loads(one)["runs"]), 4)
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_writes_what_is_asked_for(self):
        done = simulate(self.file, "--json", self.folder / "out.json", "--svg", self.folder / "p")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("bottleneck", done.stdout)
        self.assertEqual(len(json.loads((self.folder / "out.json").read_text())["runs"]), 4)
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.svg")),
                         ["p-linear.svg", "p-rate.svg", "p-staleness.svg", "p-waiting.svg"])

    def test_names_mistakes(self):
        self.file.write_text(SMALL.replace("lognormal", "lognormale"))
        done = simulate(self.file)
        self.assertEqual(done.returncode, 2)
        self.assertIn("scale.yaml:5:13: unknown key 'lognormale'", done.stderr)
        self.assertEqual(simulate(self.folder / "none.yaml").returncode, 2)
        self.assertEqual(simulate(self.file.with_name("x"), "--jason").returncode, 2)
        self.file.write_text(SMALL)
        self.assertEqual(simulate(self.file, "--json", self.folder / "no/such/folder").returncode, 1)

    def test_the_example_runs(self):
        text = EXAMPLE.read_text()
        self.assertIn("clocks: 100", text)
        self.file.write_text(text.replace("clocks: 100", "clocks: 3"))
        done = simulate(self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 1 + 4 * 2 * 3 * 2)

    def test_help(self):
        self.assertIn("scale.shard.sum", simulate("--help").stdout)


if __name__ == "__main__":
    unittest.main()
