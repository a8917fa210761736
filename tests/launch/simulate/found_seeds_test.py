#!/usr/bin/env python3
"""Seeds that have failed once, and were mended, run clean: launch/simulate/found_seeds.txt has a scenario and a seed per
line, and scripts/night appends what it finds.

Environment: TIDEGATE, the program."""
import os
import pathlib
import subprocess
import unittest

FOUND = pathlib.Path(__file__).resolve().parents[3] / "launch/simulate/found_seeds.txt"


class found_seeds(unittest.TestCase):
    def test_each_runs_clean(self):
        lines = FOUND.read_text().splitlines()
        self.assertTrue(lines, "no seed to run")
        for line in lines:
            scenario, seed = line.split()
            with self.subTest(scenario=scenario, seed=seed):
                run = subprocess.run([os.environ["TIDEGATE"], "simulate", "--seeds", "1", "--first-seed", seed,
                                      "--scenario", scenario], capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
