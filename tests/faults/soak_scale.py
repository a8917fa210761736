"""Asks a run for more and fewer workers and shards at the moments that a round has drawn."""

from faults import *


class Resizes:
    """`moments`: (seconds since now, what is wanted). One at a time; what is refused, as by a job that has ended, stays as it is."""

    def __init__(self, run, moments):
        self.run = run
        self.moments = sorted(moments)
        self.begin = time.monotonic()
        self.asking = None

    def look(self):
        """To be called again and again."""
        if self.asking and self.asking.poll() is None:
            return
        self.asking = None
        if not self.moments or time.monotonic() - self.begin < self.moments[0][0] or self.run.process.poll() is not None:
            return
        wanted = self.moments.pop(0)[1]
        self.asking = subprocess.Popen([str(BIN / "tidegate"), "scale", str(self.run.run_dir), wanted],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
