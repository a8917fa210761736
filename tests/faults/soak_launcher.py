"""Kills the launcher of a run at the moments that a round has drawn, and has another one go on with it."""

import json

from faults import *


class LauncherKills:
    """`delays`: how long each life may last, in seconds, one after the other; the last is not disturbed."""

    def __init__(self, run, delays):
        self.run = run
        self.delays = list(delays)
        self.begin = time.monotonic()

    def look(self):
        """To be called again and again. A launcher that has ended by itself is left alone."""
        if not self.delays or time.monotonic() - self.begin < self.delays[0] or self.run.process.poll() is not None:
            return
        self.delays.pop(0)
        now = time.time_ns()
        self.run.process.kill()
        if self.run.process.wait() != -signal.SIGKILL:
            return  # it was faster
        with open(self.run.run_dir / "chaos.jsonl", "a") as log:
            log.write(json.dumps({"unix_ns": now, "time": stamp(now), "kind": "kill",
                                  "detail": f"launcher-0 pid {self.run.process.pid} SIGKILL"}) + "\n")
        self.run.resume()
        self.begin = time.monotonic()


def stamp(unix_ns):
    seconds, rest = divmod(unix_ns, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1_000_000:03d}Z"
