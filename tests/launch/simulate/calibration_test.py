#!/usr/bin/env python3
"""The model predicts, within 25 %, exchanges that were measured and recorded with machine and date. No time is taken
here: scripts/calibrate does, and writes recorded.json."""

import json
import os
import pathlib
import unittest

import calibration

RECORDED = json.loads((pathlib.Path(__file__).parent / "recorded.json").read_text())
TIDEGATE = os.environ["TIDEGATE"]


class the_model(unittest.TestCase):
    def test_predicts_what_was_measured(self):
        for statistic in calibration.STATISTICS:
            for configuration, measured, predicted in calibration.compare(TIDEGATE, RECORDED, statistic):
                with self.subTest(calibration.name(configuration), statistic=statistic):
                    self.assertLess(abs(predicted / measured - 1), 0.25, f"{measured} measured, {predicted} predicted")

    def test_was_not_told_the_answer(self):
        self.assertFalse(set(calibration.KNOWN) & set(calibration.PREDICTED))
        self.assertGreater(max(workers for workers, _ in calibration.PREDICTED), 2)
        self.assertGreater(max(shards for _, shards in calibration.PREDICTED), 1)


if __name__ == "__main__":
    unittest.main()
