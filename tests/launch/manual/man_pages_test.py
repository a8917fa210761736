#!/usr/bin/env python3
"""Writes the manual as an installation has it, and lets man and mandoc say what is wrong with it.

usage: man_pages_test.py TIDEGATE
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TIDEGATE = ""


def run(*command: object) -> str:
    """Standard output and errors."""
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=120, env={**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": ""})
    return done.stdout


class ManPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory(prefix="tidegate-man-")
        cls.share = pathlib.Path(cls.folder.name)
        subprocess.run([TIDEGATE, "manual", cls.share, "2026-01-31"], check=True)
        cls.pages = sorted(cls.share.glob("man/man*/*"))

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def test_there_is_a_page_for_each_command(self) -> None:
        names = {page.name for page in self.pages}
        said = subprocess.run([TIDEGATE, "complete", "--", ""], check=True, text=True, capture_output=True).stdout
        commands = {row.split("\t")[0] for row in said.splitlines() if not row.startswith("-")}
        self.assertIn("launch", commands)
        self.assertLessEqual({f"tidegate-{command}.1" for command in commands - {"help"}}, names)
        self.assertLessEqual({"tidegate.1", "tidegate.yaml.5", "tidegate-bench-rows.1"}, names)

    def test_man_has_no_warning(self) -> None:
        for page in self.pages:
            self.assertEqual(run("man", "--warnings=w", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page).count("warning"), 0,
                             page.name)

    def test_mandoc_has_no_finding(self) -> None:
        for page in self.pages:
            self.assertEqual(run("mandoc", "-T", "lint", "-W", "warning", page), "", page.name)

    def test_a_reader_finds_what_help_says(self) -> None:
        shown = run("mandoc", "-T", "html", "-O", "fragment", self.share / "man/man1/tidegate-launch.1")
        for word in ("SYNOPSIS", "DESCRIPTION", "OPTIONS", "--run-dir-file", "SEE_ALSO"):
            self.assertIn(word, shown)
        keys = run("mandoc", "-T", "html", "-O", "fragment", self.share / "man/man5/tidegate.yaml.5")
        self.assertIn("jobs.*.consistency.staleness", keys)


if __name__ == "__main__":
    TIDEGATE = os.path.abspath(sys.argv.pop())
    unittest.main(verbosity=2)
