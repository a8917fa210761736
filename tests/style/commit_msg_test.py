#!/usr/bin/env python3
"""scripts/commit-msg takes the messages that CONTRIBUTING asks for and says what is wrong with others."""
import importlib.machinery
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/commit-msg"
loader = importlib.machinery.SourceFileLoader("commit_msg", str(SCRIPT))
commit_msg = importlib.util.module_from_spec(importlib.util.spec_from_loader("commit_msg", loader))
loader.exec_module(commit_msg)

GOOD = [
    "shard: answer a pull that waits\n\nIt waited for a push that never comes.\n",
    "runtime/ucx: connect without waiting\n\nA peer that is silent held the reactor.\n# a comment of git's\n",
    "docs: process names once\n\nThey were in two tables.\n",
    "Merge branch 'rooms'\n",
]
BAD = {
    "Answer a pull\n\nWhy.\n": "not 'area: imperative'",
    "shard: answered a pull\n\nWhy.\n": "'answered' is not an imperative",
    "shard: answers a pull\n\nWhy.\n": "'answers' is not an imperative",
    "shard: answering a pull\n\nWhy.\n": "'answering' is not an imperative",
    "shard: answer a pull.\n\nWhy.\n": "full stop",
    "shard: " + "a" * 70 + "\n\nWhy.\n": "5 too many",
    "shard: answer a pull\nWhy.\n": "second line is not empty",
    "shard: answer a pull\n": "no body",
    "shard: answer a pull\n\nSigned-off-by: A <a@b.c>\n": "no body",
    "shard: answer a pull\n\n" + "why " * 30 + "\n": "more than 100 columns",
    "": "not 'area: imperative'",
}


class commit_messages(unittest.TestCase):
    def test_good_ones_pass(self):
        for message in GOOD:
            with self.subTest(message=message):
                self.assertEqual(commit_msg.problems_of(message), [])

    def test_bad_ones_are_told_why(self):
        for message, expected in BAD.items():
            with self.subTest(message=message):
                self.assertIn(expected, "\n".join(commit_msg.problems_of(message)))

    def test_git_is_refused_by_its_exit_code(self):
        for message, code in [(GOOD[0], 0), (next(iter(BAD)), 1)]:
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
                file.write(message)
                file.flush()
                run = subprocess.run([sys.executable, SCRIPT, file.name], capture_output=True, text=True)
                self.assertEqual(run.returncode, code, run.stderr)


if __name__ == "__main__":
    unittest.main()
