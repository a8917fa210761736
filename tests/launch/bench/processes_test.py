"""processes.run ends what it started, and what that started, whatever happens."""

import pathlib
import sys
import tempfile
import time
import unittest

import processes

# Starts a child in a process group of its own, as mpirun does, and says its pid.
CHILD = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open(os.environ['READY'], 'w').close()
time.sleep(100)
"""
PARENT = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', {CHILD!r}], start_new_session=True)
print(child.pid, flush=True)
time.sleep(100)
"""


class ProcessesTest(unittest.TestCase):
    def run_python(self, *programs, seconds=20):
        return processes.run([[sys.executable, "-c", program] for program in programs], {"WORD": "said"}, seconds)

    def test_output_of_the_first_and_errors_of_all(self):
        ended = self.run_python("import os; print(os.environ['WORD'])", "print('other')")
        self.assertTrue(ended.ok)
        self.assertEqual(ended.output, "said\n")
        self.assertEqual(ended.errors, "other\n")

    def test_a_failure_ends_the_others(self):
        begin = time.monotonic()
        ended = self.run_python("import time; time.sleep(100)", "import sys; sys.exit('the reason')")
        self.assertLess(time.monotonic() - begin, 60)
        self.assertFalse(ended.ok)
        self.assertEqual(ended.codes, [None, 1])
        self.assertIn("the reason", ended.why())

    def test_time_up_ends_grandchildren_that_do_not_listen(self):
        with tempfile.TemporaryDirectory() as folder:
            ready = str(pathlib.Path(folder) / "ready")
            ended = processes.run([[sys.executable, "-c", PARENT]], {"READY": ready}, 3)
            self.assertEqual(ended.codes, [None])
            self.assertTrue(pathlib.Path(ready).exists(), "the child was there")
            self.assertIsNone(processes.identity(int(ended.output)), "and is no more")

    def test_a_program_that_is_not_there(self):
        with self.assertRaises(FileNotFoundError):
            processes.run([[sys.executable, "-c", "import time; time.sleep(100)"], ["/no/such/program"]], {}, 20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
