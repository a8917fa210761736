"""Clusters on hosts that the OpenSSH client reaches and that share no file: namespaces of this machine. Skipped where they
cannot be made (they need root and an OpenSSH server)."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

import own_hosts  # noqa: E402

BIN = pathlib.Path(os.environ["TIDEGATE_BIN"])
WORKER = pathlib.Path(os.environ["TIDEGATE_E2E_WORKER"])
UNREACHABLE = 6
JOB = {"workers": 6, "optimizer": {"name": "adam", "learning_rate": 0.05}}


def wait_until(condition, seconds, what):
    """Polls for a condition that another process brings about."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")


class Run:
    """A `tidegate launch` on host 1, in /tmp/run there."""

    def __init__(self, hosts, spec, *arguments):
        self.hosts = hosts
        hosts.path(1, "/tmp/cluster.yaml").write_text(json.dumps(spec))  # JSON is YAML
        # In memory: a launcher that waits for a disk says nothing to its agents meanwhile.
        self.output_file = tempfile.TemporaryFile("w+", dir="/dev/shm")
        self.start(["launch", "/tmp/cluster.yaml", "--run-dir", "/tmp/run", *arguments])

    def start(self, words):
        self.begin = time.monotonic()
        self.process = subprocess.Popen(self.hosts.command(1, [BIN / "tidegate", *words], E2E_PULLS="/tmp/pulls"),
                                        stdin=subprocess.DEVNULL, stdout=self.output_file, stderr=subprocess.STDOUT)

    @property
    def output(self):
        self.output_file.seek(0)
        return self.output_file.read()

    def read(self, name):
        try:
            return self.hosts.path(1, f"/tmp/run/{name}").read_text(errors="replace")
        except OSError:
            return ""

    def events(self, kind):
        text = self.read("events.jsonl")
        return [event["detail"] for event in map(json.loads, text[: text.rfind("\n") + 1].splitlines()) if event["what"] == kind]

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
        return self.process.poll() is not None or any(
            path.read_bytes().count(b"\n") > 3 for host in self.hosts.all()
            for path in self.hosts.path(host, "/tmp/pulls").glob("*"))

    def account(self):
        logs = "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}"
                         for log in sorted(self.hosts.path(1, "/tmp/run/logs").glob("*.log")))
        return f"{self.output}\n{self.read('events.jsonl')[-6000:]}\n{logs}"

    def sha256(self):
        return json.loads(self.read("result.json"))["jobs"][0]["parameters_sha256"]


class Ssh(unittest.TestCase):
    def own_hosts(self, count):
        made = own_hosts.SshHosts(count)
        try:
            made.__enter__()
        except (own_hosts.NotHere, OSError, subprocess.SubprocessError) as why:
            self.skipTest(str(why))
        self.addCleanup(made.remove)
        for host in made.all():
            made.path(host, "/tmp/pulls").mkdir()
        return made

    def spec(self, hosts, clocks, pause_us=0, job=(), named=None):
        """The launcher's host is h1, all others are reached by ssh."""
        named = named or {f"h{host}": {"address": hosts.address(host)} if host == 1 else
                          {"ssh": f"root@h{host}", "address": hosts.address(host), "key": str(hosts.keys / "user")}
                          for host in hosts.all()}
        return {"cluster": {"name": "ssh", "hosts": named, "shards": 3, "replicas": 1},
                "jobs": {"job": {**JOB, "command": [str(WORKER), "workload", str(clocks), str(pause_us), "exchange"], **dict(job)}},
                "supervision": {"unreachable": f"{UNREACHABLE}s", "worker": {"max_restarts": 100}, "shard": {"max_restarts": 100}}}

    def expected(self, hosts, clocks):
        """The hash of the same job on one host, on which nothing happens."""
        alone = {"cluster": {"name": "alone", "shards": 2},
                 "jobs": {"job": {**JOB, "command": [str(WORKER), "workload", str(clocks), "0", "exchange"]}}}
        run = Run(hosts, alone)
        self.assertEqual(run.wait(60), 0, run.account())
        sha256 = run.sha256()
        hosts.run(1, ["sh", "-c", "rm -r /tmp/run /tmp/pulls/*"])
        return sha256

    def assert_well(self, run, expected, hosts, seconds=120, lost=()):
        self.assertEqual(run.wait(seconds), 0, run.account())
        self.assertEqual(run.sha256(), expected)
        self.assert_nothing_left(hosts, lost)

    def assert_nothing_left(self, hosts, lost=()):
        for host in hosts.all():
            if host in lost:
                continue
            wait_until(lambda: all("sshd" in command for command in hosts.processes(host).values()), 10,
                       lambda: f"nothing runs on h{host}: {hosts.processes(host)}")
            left = [name for folder in ("/tmp", "/dev/shm") for name in os.listdir(hosts.path(host, folder))]
            allowed = {"pulls", hosts.keys.name, *(("run", "cluster.yaml") if host == 1 else ())}
            self.assertEqual([name for name in left if name not in allowed and not name.startswith("tidegate-0")], [], f"h{host}")

    def begun(self, hosts, spec):
        run = Run(hosts, spec)
        self.addCleanup(lambda: run.process.poll() is None and run.process.kill())
        wait_until(run.is_training, 60, run.account)
        wait_until(lambda: len(run.events("replica_in_sync")) >= 3, 20, run.account)
        return run

    def kill(self, hosts, run, role, host):
        """A process of this role on that host."""
        victim = next(process for process in run.listed() if process["role"] == role and process.get("host", "h1") == f"h{host}")
        hosts.run(host, ["kill", "-9", victim["pid"]])
        return victim

    def test_the_same_bits_on_three_hosts_whatever_dies(self):
        hosts = self.own_hosts(3)
        expected = self.expected(hosts, 300)
        with self.subTest("nothing dies"):
            run = Run(hosts, self.spec(hosts, 300))
            self.assert_well(run, expected, hosts)
            # What workers of other hosts have said is in the launcher's run folder.
            self.assertIn("info job job: bsp, 6 workers", run.read("logs/shard-1.log"))
            self.assertIn("info job job: bsp, 6 workers", run.read("logs/replica-1.log"))
        for role in ("worker", "shard"):
            with self.subTest(role + " dies"):
                hosts.run(1, ["rm", "-r", "/tmp/run"])
                run = self.begun(hosts, self.spec(hosts, 300, 10000))
                self.kill(hosts, run, role, 2)
                self.assert_well(run, expected, hosts)
                self.assertEqual(len(run.events("process_died")), 1, run.account())
        with self.subTest("an agent dies"):
            hosts.run(1, ["rm", "-r", "/tmp/run"])
            run = self.begun(hosts, self.spec(hosts, 300, 10000))
            agent = next(pid for pid, command in hosts.processes(2).items() if command.endswith("tidegate host"))
            hosts.run(2, ["kill", "-9", agent])
            self.assert_well(run, expected, hosts)
            self.assertEqual(run.events("host_back"), ["h2"], run.account())
        with self.subTest("the client of ssh dies"):
            hosts.run(1, ["rm", "-r", "/tmp/run"])
            run = self.begun(hosts, self.spec(hosts, 300, 10000))
            client = next(pid for pid, command in hosts.processes(1).items() if command.startswith("ssh ") and "root@h3" in command)
            hosts.run(1, ["kill", "-9", client])
            self.assert_well(run, expected, hosts)
            self.assertEqual(run.events("host_back"), ["h3"], run.account())
        with self.subTest("a host loses its power"):
            hosts.run(1, ["rm", "-r", "/tmp/run"])
            run = self.begun(hosts, self.spec(hosts, 300, 30000))
            hosts.lose_power(3)
            self.assert_well(run, expected, hosts, lost=[3])
            self.assertEqual(len(run.events("host_lost")), 1, run.account())

    def test_a_launcher_that_is_killed_leaves_nothing_on_any_host(self):
        hosts = self.own_hosts(3)
        run = self.begun(hosts, self.spec(hosts, 100000, 1000))
        launcher = next(pid for pid, command in hosts.processes(1).items() if "tidegate launch" in command)
        hosts.run(1, ["kill", "-9", launcher])
        run.process.wait(timeout=10)
        for host in hosts.all():
            wait_until(lambda: all("sshd" in command for command in hosts.processes(host).values()), 10,
                       lambda: f"nothing runs on h{host}: {hosts.processes(host)}")

    def test_what_is_wrong_with_a_host_is_told_at_once(self):
        hosts = self.own_hosts(2)
        good = {"ssh": "root@h2", "address": hosts.address(2), "key": str(hosts.keys / "user")}
        hosts.run(1, ["sh", "-c", f"cp {hosts.keys}/h1 /tmp/wrong-key && chmod 600 /tmp/wrong-key"])
        hosts.run(2, ["sh", "-c", "printf '#!/bin/sh\\nexec sleep 1000\\n' > /tmp/silent && chmod 755 /tmp/silent"])
        for change, says in (({"key": "/tmp/wrong-key"}, "Permission denied"),
                             ({"program": "/opt/tidegate"}, "/opt/tidegate"),
                             ({"ssh": "root@nowhere"}, "Could not resolve hostname nowhere"),
                             ({"port": 2222}, "Connection refused"),
                             ({"address": "h9"}, "its address 'h9'"),
                             ({"program": "/tmp/silent"}, "its agent has not reported within 3000 ms (cluster.start_timeout)")):
            with self.subTest(change=change):
                spec = self.spec(hosts, 10, named={"h1": {"address": hosts.address(1)}, "h2": {**good, **change}})
                spec["cluster"]["start_timeout"] = "3s"
                run = Run(hosts, spec)
                self.assertEqual(run.wait(20), 1, run.account())
                self.assertIn(says, run.output)
                self.assertLess(run.seconds, 8)
                hosts.run(1, ["rm", "-r", "/tmp/run"])
        with self.subTest("a host key that is not known"):
            hosts.path(1, "/root/.ssh/known_hosts").write_text("")
            run = Run(hosts, self.spec(hosts, 10))
            self.assertEqual(run.wait(20), 1, run.account())
            self.assertIn("Host key verification failed", run.output)
            hosts.run(1, ["rm", "-r", "/tmp/run"])

    def test_checkpoints_need_a_folder_that_all_hosts_see(self):
        hosts = self.own_hosts(2)
        run = Run(hosts, self.spec(hosts, 10, job={"checkpoint": {"every": "5 clocks"}}))
        self.assertEqual(run.wait(20), 1, run.account())
        self.assertIn("this host does not see the run folder /tmp/run of the launcher, and job job writes checkpoints there",
                      run.output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
