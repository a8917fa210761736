"""Starts `tidegate launch` on real processes and looks at what they do and leave behind."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = pathlib.Path(os.environ["TIDEGATE_BIN"])
SOURCE = pathlib.Path(os.environ["TIDEGATE_SOURCE"])
WORKER = pathlib.Path(os.environ["TIDEGATE_E2E_WORKER"])
DEVICE = os.environ.get("TIDEGATE_TEST_DEVICE")  # of all shards, where the tests are about those
# How much longer pauses of workers last, and runs may take: a process takes longer to begin on a GPU.
SLOWER = 6 if (DEVICE or "").startswith("cuda:") else 1


def cluster_yaml(jobs, shards=2, **cluster):
    """The YAML of jobs: {name: {workers, mode, ...other keys of the job}}."""
    spec = {"cluster": {"name": "e2e", "shards": shards, **cluster}, "jobs": {}}
    for name, job in jobs.items():
        job = dict(job)
        mode = list(job.pop("mode"))
        if SLOWER > 1 and mode[0] in ("workload", "count"):
            mode[2] *= SLOWER
        spec["jobs"][name] = {
            "command": [str(WORKER)] + [str(word) for word in mode],
            "optimizer": {"name": "sgd", "learning_rate": 0.1},
            **job,
        }
    return json.dumps(spec, indent=1)  # JSON is YAML


def wait_until(condition, seconds, what):
    """Polls for a condition that another process brings about. `what`: a text, or a function that makes one."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")


def alive(pid):
    """Neither gone nor a zombie."""
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def started(pid):
    """When, in clock ticks since the machine started; None: nothing with this pid runs."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


class Launch:
    """One `tidegate launch` in a run folder of its own."""

    def __init__(self, yaml, *arguments, env=None, run_dir=None, runner=(), cwd=None, terminal=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-e2e-"))
        self.yaml = self.folder / "cluster.yaml"
        self.yaml.write_text(yaml) if isinstance(yaml, str) else shutil.copy(yaml, self.yaml)
        self.run_dir = pathlib.Path(run_dir or self.folder / "run")
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.pulls = self.folder / "pulls"  # where e2e_worker writes down its pulls
        self.pulls.mkdir()
        self.begin = time.monotonic()
        self.output_path = self.folder / "output"
        self.terminal = terminal
        self.copying = None
        self.env = {**os.environ, "TMPDIR": str(self.temporary), "E2E_PULLS": str(self.pulls), **(env or {})}
        device = ["--device", DEVICE] if DEVICE else []
        self.start([*runner, BIN / "tidegate", "launch", str(self.yaml), "--run-dir", str(self.run_dir), *device, *arguments],
                   cwd or self.folder)

    def start(self, command, cwd):
        """On a terminal live lines follow each change, elsewhere they come every 2 s."""
        with open(self.output_path, "ab") as output:
            master, slave = os.openpty() if self.terminal else (None, None)
            self.process = subprocess.Popen(command, stdout=slave or output, stderr=subprocess.STDOUT,
                                            stdin=subprocess.DEVNULL, cwd=cwd, env=self.env)
        if self.terminal:
            os.close(slave)
            self.copying = threading.Thread(target=self.copy, args=(master,))
            self.copying.start()

    def copy(self, terminal):
        """What is written to the terminal, until nobody holds its other end."""
        with open(self.output_path, "ab", buffering=0) as output, open(terminal, "rb", buffering=0) as written:
            while True:
                try:
                    output.write(written.read(65536))
                except OSError:  # EIO: the other end is closed
                    return

    def resume(self):
        """Another launcher goes on with the run; its output follows that of the one before."""
        self.start([BIN / "tidegate", "launch", "--resume", str(self.run_dir)], self.folder)

    def wait(self, seconds=60):
        code = self.process.wait(timeout=seconds * SLOWER)
        self.join_copying()
        self.seconds = time.monotonic() - self.begin
        return code

    def join_copying(self):
        if self.copying:
            self.copying.join()
            self.copying = None

    @property
    def output(self):
        return self.output_path.read_text(errors="replace")

    def processes(self):
        """Those of the list that live: it stays when the launcher is killed, and pids become somebody else's."""
        return [one for one in self.listed() if started(one["pid"]) == one["started"]]

    def listed(self):
        try:
            return json.loads((self.run_dir / "pids.json").read_text())
        except (OSError, ValueError):
            return []

    def started_pids(self):
        return [int(pid) for pid in re.findall(r"process_(?:re)?started.*? pid (\d+)", self.events_text())]

    def clocks_made(self):
        """By pid of a worker, of each life of the run: it pulls once in a clock, and has made all but the last."""
        return {int(path.name): path.read_bytes().count(b"\n") - 1 for path in self.pulls.iterdir()}

    def clock(self):
        """The number of clocks that the process which has made most of them has made."""
        return max(self.clocks_made().values(), default=0)

    def wait_for_training(self, processes):
        """All processes are there and every worker has made a clock."""
        wait_until(lambda: len(self.processes()) == processes, 30, f"{processes} processes in pids.json")
        workers = [p["pid"] for p in self.processes() if p["role"] == "worker"]
        wait_until(lambda: all(self.clocks_made().get(pid, 0) > 0 for pid in workers), 30,
                   f"a clock of each worker; {self.output}")
        return self.processes()

    def events_text(self):
        """Whole lines: of the one that is being written a reader may see a part."""
        try:
            text = (self.run_dir / "events.jsonl").read_text()
            return text[: text.rfind("\n") + 1]
        except OSError:
            return ""

    def control_port(self):
        return self.control_ports()[0]

    def control_ports(self):
        """Of each life of the coordinator."""
        try:
            text = (self.run_dir / "logs/coordinator-0.log").read_text()
        except OSError:
            return []
        return [int(port) for port in re.findall(r"control plane on \S+:(\d+)", text)]

    def result(self):
        return json.loads((self.run_dir / "result.json").read_text())

    def account(self):
        """What a reader needs of a run that has gone wrong, as its folder goes: the ends of what it said, of its events and
        of its processes' logs."""
        parts = ["\n".join(text.splitlines()[-40:]) for text in (self.output, self.events_text())]
        for log in sorted((self.run_dir / "logs").glob("*.log")):
            parts.append(f"{log.name}:\n" + "\n".join(log.read_text(errors="replace").splitlines()[-15:]))
        return "\n".join(parts)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.join_copying()
        shutil.rmtree(self.folder, ignore_errors=True)


def segments():
    """Shared-memory segments of this machine: name, or id and maker. Sockets need no look of their own:
    they go with the processes that hold them."""
    found = {f"/dev/shm/{name}" for name in os.listdir("/dev/shm")}
    for line in pathlib.Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        found.add(f"sysv segment {line.split()[1]} of pid {line.split()[4]}")
    return found


def listening(port):
    lines = [line.split() for kind in ("tcp", "tcp6")
             for line in pathlib.Path(f"/proc/net/{kind}").read_text().splitlines()[1:]]
    return any(fields[3] == "0A" and int(fields[1].rsplit(":", 1)[1], 16) == port for fields in lines)


class ClusterTest(unittest.TestCase):
    def launch(self, *arguments, **options):
        launched = Launch(*arguments, **options)
        self.addCleanup(self.close, launched)
        return launched

    def close(self, launched):
        if self.has_failed():
            print(launched.account(), file=sys.stderr)
        launched.close()

    def has_failed(self):
        """Before Python 3.11 a result has the errors only when the test is over, and its outcome has them until then."""
        told = self._outcome.result.failures + self._outcome.result.errors
        untold = getattr(self._outcome, "errors", [])
        return any(getattr(test, "test_case", test) is self for test, _ in told) or any(error for _, error in untold)

    def run_to_end(self, *arguments, seconds=60, expect=0, **options):
        launched = self.launch(*arguments, **options)
        code = launched.wait(seconds)
        self.assertEqual(code, expect, launched.output)
        return launched

    def assert_all_gone(self, processes, seconds):
        wait_until(lambda: not any(alive(p["pid"]) for p in processes), seconds,
                   f"the end of {[p for p in processes if alive(p['pid'])]}")


def main():
    unittest.main(verbosity=2, argv=sys.argv)


__all__ = ["BIN", "SOURCE", "WORKER", "ClusterTest", "Launch", "alive", "cluster_yaml", "listening", "main",
           "os", "pathlib", "segments", "signal", "started", "subprocess", "sys", "time", "wait_until"]
