"""Clusters in allocations of Slurm: a controller and nodes on hosts that share no file. Skipped where those cannot be made (they
need root), or where there is no Slurm."""

import re
import shutil
import tempfile

from engines import *


class SlurmRun(Run):
    """A batch job, submitted on host 1, whose script launches on the first of its nodes."""

    def start(self, command):
        script = (f"#!/bin/sh\nexport E2E_PULLS=/tmp/pulls PATH={BIN}:$PATH\n"
                  f"{' '.join(map(str, command))} > /tmp/output 2>&1\necho $? > /tmp/status\n")
        self.hosts.run(1, ["sh", "-c", 'cat > /root/job.sh'], input=script)
        self.hosts.run(self.host, ["rm", "-f", "/tmp/status", "/tmp/output"])
        nodes = len(list(self.hosts.all())) - 1
        self.job = self.hosts.run(1, ["sbatch", "--parsable", f"--nodes={nodes}", "--no-kill", "--output=/dev/null",
                                      "/root/job.sh"], **self.hosts.slurm).strip()

    def status(self):
        try:
            text = self.hosts.path(self.host, "/tmp/status").read_text()
        except OSError:
            return None
        return int(text) if text.endswith("\n") else None

    def has_ended(self):
        return self.status() is not None

    def kill(self):
        if not self.has_ended():
            self.hosts.run(1, ["scancel", "--full", self.job])

    def wait(self, seconds):
        wait_until(self.has_ended, seconds, self.account)
        self.seconds = time.monotonic() - self.begin
        return self.status()

    @property
    def output(self):
        try:
            return self.hosts.path(self.host, "/tmp/output").read_text(errors="replace")
        except OSError:
            return ""


class SubmittedRun(SlurmRun):
    """A cluster file that `tidegate submit` gives to Slurm, in a folder that all hosts share."""

    def __init__(self, hosts, spec, host, folder):
        self.folder = folder
        super().__init__(hosts, spec, host)

    def start(self, _):
        (self.folder / "cluster.yaml").write_text(json.dumps(self.spec))
        answer = self.hosts.run(1, ["env", "E2E_PULLS=/tmp/pulls", BIN / "tidegate", "submit", "--slurm", self.folder / "cluster.yaml",
                                    "--run-dir", self.folder / "run", "--nodes", len(list(self.hosts.all())) - 1, "--sbatch=--comment=e2e"])
        self.job = re.match(r"job (\d+) of Slurm, 2 nodes\n", answer)[1]

    def read(self, name):
        try:
            return (self.folder / "run" / name).read_text(errors="replace")
        except OSError:
            return ""

    def queued(self):
        """The job's state and why it waits; empty once it has left the queue."""
        return self.hosts.run(1, ["squeue", "--noheader", "--job", self.job, "--format=%T %r"]).split()

    def hurry(self):
        """Slurm has a job that is put back wait for two minutes: anew when its last step has ended, which the queue's reason
        need not say yet. A job that has begun meanwhile takes no other time, and needs none."""
        if self.queued()[:1] == ["PENDING"]:
            self.hosts.run(1, ["sh", "-c", f"scontrol update JobId={self.job} StartTime=now || true"])

    def has_ended(self):
        return self.read("result.json") != "" and not self.queued()

    def status(self):
        return json.loads(self.read("result.json"))["exit_code"]

    @property
    def output(self):
        try:
            return pathlib.Path(f"{self.folder}/run.out").read_text(errors="replace")
        except OSError:
            return ""


class Slurm(EngineTest):
    kind = own_hosts.SlurmHosts
    daemons = ("munged", "slurmctld", "slurmd ", "slurmstepd", "/slurm_script")
    run_kind = SlurmRun
    launcher = 2

    def test_the_same_bits_on_the_nodes_of_an_allocation_whatever_dies(self):
        hosts = self.own_hosts(4)
        expected = self.expected(hosts, 200)
        with self.subTest("nothing dies"):
            run = self.launch(hosts, self.spec(hosts, 200, engine="slurm"))
            self.assert_well(run, expected, hosts)
        with self.subTest("a worker dies"):
            self.clear(hosts)
            run = self.begun(hosts, self.spec(hosts, 200, 10000, engine="slurm"))
            self.assertEqual({process.get("host") for process in run.listed()}, {None, "h3", "h4"})
            self.kill(hosts, run, "worker", 3)
            self.assert_well(run, expected, hosts)
        with self.subTest("an agent dies"):
            self.clear(hosts)
            run = self.begun(hosts, self.spec(hosts, 200, 20000, engine="slurm"))
            self.kill_agent(hosts, 3)
            self.assert_well(run, expected, hosts)
            self.assertIn("h3", run.events("host_back"), run.account())
        with self.subTest("a node loses its power"):
            self.clear(hosts)
            run = self.begun(hosts, self.spec(hosts, 200, 40000, engine="slurm"))
            hosts.lose_power(4)
            self.assert_well(run, expected, hosts, lost=[4])
            self.assertEqual(len(run.events("host_lost")), 1, run.account())

    def test_a_time_limit_costs_no_clock(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-submitted-"))
        self.addCleanup(shutil.rmtree, folder)
        hosts = self.own_hosts(3, shared=[folder])
        expected = self.expected(hosts, 200)
        spec = self.spec(hosts, 200, 150000, job={"checkpoint": {"every": "1000 clocks"}})
        run = SubmittedRun(hosts, spec, self.launcher, folder)
        self.addCleanup(run.kill)
        wait_until(run.is_training, 60, run.account)
        # As Slurm does before the limit (--signal=B:USR1).
        hosts.run(1, ["scancel", "--batch", "--signal=USR1", run.job])
        wait_until(lambda: run.queued() == ["PENDING", "BeginTime"], 30, run.account)
        # A node takes nothing of a job that begins within the second in which its turn before has ended there: its credentials
        # count as revoked.
        wait_until(lambda: not any("slurmstepd" in command for host in (2, 3) for command in hosts.processes(host).values()), 30,
                   run.account)
        ended = time.time()
        wait_until(lambda: time.time() >= ended + 2, 10, "the next second")
        wait_until(lambda: run.events("run_resumed") or run.hurry(), 60, run.account)
        self.assertRegex(run.events("job_resumed")[0], r"checkpoint e0001-0+2, clock [1-9]")
        self.assert_well(run, expected, hosts)

    def test_what_is_no_allocation_is_told(self):
        hosts = self.own_hosts(2)
        run = Run(hosts, self.spec(hosts, 10, engine="slurm"), 1)
        self.assertEqual(run.wait(20), 2)
        self.assertIn("cluster.engine is slurm, and this is no allocation of Slurm", run.output)


if __name__ == "__main__":
    unittest.main(verbosity=2)
