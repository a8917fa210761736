"""Clusters of `tidegate launch` on hosts of this machine that share no file (tests/support/own_hosts.py)."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

for folder in ("support", "e2e"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / folder))

import own_hosts  # noqa: E402
from cluster import BIN, WORKER, wait_until  # noqa: E402

UNREACHABLE = 10  # seconds: a host that is lost because others use the machine is no finding
JOB = {"workers": 6, "optimizer": {"name": "adam", "learning_rate": 0.05}}


class Run:
    """A `tidegate launch` on a host, in /tmp/run there."""

    def __init__(self, hosts, spec, host=1, arguments=(), **variables):
        self.hosts = hosts
        self.host = host
        self.spec = spec
        self.variables = variables
        hosts.path(host, "/tmp/cluster.yaml").write_text(json.dumps(spec))  # JSON is YAML
        # In memory: a launcher that waits for a disk says nothing to its agents meanwhile.
        self.output_file = tempfile.TemporaryFile("w+", dir="/dev/shm")
        self.begin = time.monotonic()
        self.start([BIN / "tidegate", "launch", "/tmp/cluster.yaml", "--run-dir", "/tmp/run", *arguments])

    def start(self, command):
        self.process = subprocess.Popen(self.hosts.command(self.host, command, E2E_PULLS="/tmp/pulls", **self.variables),
                                        stdin=subprocess.DEVNULL, stdout=self.output_file, stderr=subprocess.STDOUT)

    def has_ended(self):
        return self.process.poll() is not None

    def kill(self):
        if not self.has_ended():
            self.process.kill()
        self.process.wait()

    @property
    def output(self):
        self.output_file.seek(0)
        return self.output_file.read()

    def read(self, name):
        try:
            return self.hosts.path(self.host, f"/tmp/run/{name}").read_text(errors="replace")
        except OSError:
            return ""

    def events(self, kind):
        text = self.read("events.jsonl")
        return [event["detail"] for event in map(json.loads, text[: text.rfind("\n") + 1].splitlines()) if event["kind"] == kind]

    def wait(self, seconds):
        code = self.process.wait(timeout=seconds)
        self.seconds = time.monotonic() - self.begin
        return code

    def listed(self):
        try:
            return json.loads(self.read("pids.json"))
        except ValueError:
            return []

    def is_training(self):
        """Some worker has pulled often enough for all to have begun."""
        return self.has_ended() or any(path.read_bytes().count(b"\n") > 3 for host in self.hosts.all()
                                       for path in self.hosts.path(host, "/tmp/pulls").glob("*"))

    def account(self):
        logs = "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}"
                         for log in sorted(self.hosts.path(self.host, "/tmp/run/logs").glob("*.log")))
        return f"{self.output}\n{self.read('events.jsonl')[-6000:]}\n{logs}"

    def sha256(self):
        return json.loads(self.read("result.json"))["jobs"][0]["parameters_sha256"]


class EngineTest(unittest.TestCase):
    """`kind`: of hosts (own_hosts.py). `daemons`: words of the commands that belong to the hosts themselves."""

    kind = own_hosts.OwnHosts
    daemons = ()
    run_kind = Run
    launcher = 1  # the host that launches

    def own_hosts(self, count, shared=()):
        hosts = self.kind(count, shared)
        try:
            hosts.__enter__()
        except own_hosts.NotHere as why:
            self.skipTest(str(why))
        self.addCleanup(hosts.remove)
        for host in hosts.all():
            hosts.path(host, "/tmp/pulls").mkdir()
        return hosts

    def spec(self, _, clocks, pause_us=0, job=(), **cluster):
        return {"cluster": {"name": "engine", "shards": 3, "replicas": 1, **cluster},
                "jobs": {"job": {**JOB, "command": [str(WORKER), "workload", str(clocks), str(pause_us), "exchange"], **dict(job)}},
                "supervision": {"unreachable": f"{UNREACHABLE}s", "worker": {"max_restarts": 100}, "shard": {"max_restarts": 100}}}

    def expected(self, hosts, clocks):
        """The hash of the same job on one host, on which nothing happens."""
        alone = {"cluster": {"name": "alone", "shards": 2},
                 "jobs": {"job": {**JOB, "command": [str(WORKER), "workload", str(clocks), "0", "exchange"]}}}
        run = Run(hosts, alone, self.launcher)
        self.assertEqual(run.wait(60), 0, run.account())
        sha256 = run.sha256()
        self.clear(hosts)
        return sha256

    def clear(self, hosts):
        hosts.run(self.launcher, ["sh", "-c", "rm -r /tmp/run; rm -rf /tmp/pulls/*"])

    def launch(self, hosts, spec):
        run = self.run_kind(hosts, spec, self.launcher)
        self.addCleanup(run.kill)
        return run

    def begun(self, hosts, spec):
        run = self.launch(hosts, spec)
        wait_until(run.is_training, 60, run.account)
        wait_until(lambda: len(run.events("replica_in_sync")) >= 3, 20, run.account)
        return run

    def foreign(self, hosts, host):
        """What runs there and does not belong to the host itself."""
        return {pid: command for pid, command in hosts.processes(host).items()
                if not any(daemon in command for daemon in self.daemons)}

    def assert_nothing_runs(self, hosts, lost=()):
        for host in hosts.all():
            if host not in lost:
                wait_until(lambda: not self.foreign(hosts, host), 20, lambda: f"nothing runs on h{host}: {self.foreign(hosts, host)}")

    def assert_nothing_left(self, hosts, lost=()):
        self.assert_nothing_runs(hosts, lost)
        for host in hosts.all():
            if host in lost:
                continue
            left = [name for folder in ("/tmp", "/dev/shm") for name in os.listdir(hosts.path(host, folder))]
            allowed = {"pulls", *(pathlib.Path(folder).name for folder in hosts.shared),
                       *(("run", "cluster.yaml", "output", "status") if host == self.launcher else ())}
            self.assertEqual([name for name in left if name not in allowed and not name.startswith(("tidegate-0", "ompi."))], [],
                             f"h{host}")
            self.assertEqual(list(hosts.path(host, "/tmp").glob("tidegate-0/*")), [], f"h{host}")

    def assert_well(self, run, expected, hosts, seconds=120, lost=()):
        self.assertEqual(run.wait(seconds), 0, run.account())
        self.assertEqual(run.sha256(), expected)
        self.assert_nothing_left(hosts, lost)

    def kill(self, hosts, run, role, host):
        """A process of this role on that host."""
        victim = next(process for process in run.listed()
                      if process["role"] == role and process.get("host", f"h{self.launcher}") == f"h{host}")
        hosts.run(host, ["kill", "-9", victim["pid"]])
        return victim

    def kill_agent(self, hosts, host):
        agent = next(pid for pid, command in hosts.processes(host).items() if command.endswith("bin/tidegate host"))
        hosts.run(host, ["kill", "-9", agent])


__all__ = ["BIN", "EngineTest", "JOB", "Run", "UNREACHABLE", "WORKER", "json", "os", "own_hosts", "pathlib", "subprocess", "time",
           "unittest", "wait_until"]
