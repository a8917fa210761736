"""Kills processes of a running cluster and keeps the account of it."""

import json
import pathlib
import random
import re
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

from cluster import *  # noqa: E402  (the path above)
import cluster  # noqa: E402


def orphans():
    """Those of segments() that no process holds, whoever made them: what is left behind, also while others run clusters
    on this machine."""
    found = {f"sysv segment {line.split()[1]} of pid {line.split()[4]}"
             for line in pathlib.Path("/proc/sysvipc/shm").read_text().splitlines()[1:] if line.split()[6] == "0"}
    return found | ({name for name in segments() if name.startswith("/dev/shm/")} - held_files())


def held_files():
    """Files of /dev/shm that a process has open or mapped."""
    held = set()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            held.update(line.split(maxsplit=5)[5] for line in (process / "maps").read_text().splitlines()
                        if "/dev/shm/" in line)
            held.update(os.readlink(link) for link in (process / "fd").iterdir())
        except OSError:
            continue  # it has ended
    return held


class FaultTest(ClusterTest):
    def setUp(self):
        self.before = orphans()

    def hash_of(self, run):
        job = run.result()["jobs"][0]
        self.assertEqual(len(job["parameters_sha256"]), 64)
        return job["parameters_sha256"]

    def kill(self, run, name):
        """Whichever process it is now: `shard-0`, `worker-1` (of the one job)."""
        role, index = name.split("-")

        def pid():
            return next((p["pid"] for p in run.processes()
                         if p["role"] == role and p["index"] == int(index) and alive(p["pid"])), None)
        os.kill(wait_until(pid, 5, f"{name} is there; {run.output}"), signal.SIGKILL)

    def kill_now_and_then(self, run, role, kills, seed, pause=(0.05, 0.4)):
        """Kills random processes of a role, each time another life of it, until there were so many or the
        run ends. Returns how many."""
        chance = random.Random(seed)
        self.wait_for_a_clock(run)
        killed = set()
        while len(killed) < kills and run.process.poll() is None:
            time.sleep(chance.uniform(*pause))  # when, not whether: the moment is what is drawn
            if self.count_events(run, "ending") > 0:
                break  # those that live are on their way out
            living = [p["pid"] for p in run.processes()
                      if p["role"] == role and p["pid"] not in killed and alive(p["pid"])]
            if not living:
                continue
            victim = chance.choice(living)
            os.kill(victim, signal.SIGKILL)
            killed.add(victim)
        return len(killed)

    def kill_each(self, run, names, seed, rest):
        """Kills these processes of a job of three workers and two shards with replicas, each when the one before has been
        made good and up to `rest` seconds have passed."""
        wait_until(lambda: self.count_events(run, "replica_in_sync") >= 2, 20, f"in sync; {run.output}")
        chance = random.Random(seed)
        for mended, name in enumerate(names, 3 + 2 + 1):
            self.kill(run, name)
            wait_until(lambda: self.count_events(run, "replica_in_sync") + self.count_events(run, "worker_joined") >=
                       mended or run.process.poll() is not None, 20, f"{name} is made good; {run.output}")
            time.sleep(chance.uniform(0, rest))  # when, not whether: the moment is what is drawn

    def assert_same_after_kills(self, yaml, expected, names, seed, rest, seconds=60):
        """Runs a job, kills these processes (kill_each), and finds the hash, each death told, and nothing left."""
        run = self.launch(yaml)
        self.kill_each(run, names, seed, rest)
        self.assertEqual(run.wait(seconds), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertEqual(self.count_events(run, "process_died"), len(names))
        self.assert_nothing_left(run)

    def wait_for_a_clock(self, run):
        """Every worker has made one. The live line may come too late for it: off a terminal it is told every 2 s."""
        def all_have():
            made = run.clocks_made()
            living = [p["pid"] for p in run.processes() if p["role"] == "worker"]
            return any(made.values()) and all(made.get(pid, 0) > 0 for pid in living)

        wait_until(all_have, 30, f"a clock of each worker; {run.output}")

    def count_events(self, run, what):
        return sum(json.loads(line)["kind"] == what for line in run.events_text().splitlines())

    def assert_nothing_left(self, run):
        self.assert_all_gone([{"pid": pid} for pid in run.started_pids()], 5)
        # Others run clusters beside this one.
        wait_until(lambda: not orphans() - self.before, 5, f"no segment left; there is {orphans() - self.before}")
        self.assertEqual(list(run.temporary.iterdir()), [])


__all__ = cluster.__all__ + ["FaultTest", "json", "orphans", "random", "re", "shutil", "tempfile"]
