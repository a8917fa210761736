"""Clusters on hosts that the OpenSSH client reaches and that share no file: namespaces of this machine. Skipped where they
cannot be made (they need root and an OpenSSH server)."""

import shutil
import tempfile

from engines import *


class Ssh(EngineTest):
    kind = own_hosts.SshHosts
    daemons = ("sshd",)

    def spec(self, reached, clocks, pause_us=0, job=(), **cluster):
        """The launcher's host is h1, all others are reached by ssh."""
        named = {f"h{host}": {"address": reached.address(host)} if host == 1 else
                 {"ssh": f"root@h{host}", "address": reached.address(host), "key": str(reached.keys / "user")}
                 for host in reached.all()}
        return super().spec(reached, clocks, pause_us, job, hosts=named, **cluster)

    def test_the_same_bits_on_three_hosts_whatever_dies(self):
        hosts = self.own_hosts(3)
        expected = self.expected(hosts, 300)
        with self.subTest("nothing dies"):
            run = self.launch(hosts, self.spec(hosts, 300))
            self.assert_well(run, expected, hosts)
            # What workers of other hosts have said is in the launcher's run folder.
            self.assertIn("info job job: bsp, 6 workers", run.read("logs/shard-1.log"))
            self.assertIn("info job job: bsp, 6 workers", run.read("logs/replica-1.log"))
        for role in ("worker", "shard"):
            with self.subTest(role + " dies"):
                self.clear(hosts)
                run = self.begun(hosts, self.spec(hosts, 300, 10000))
                self.kill(hosts, run, role, 2)
                self.assert_well(run, expected, hosts)
                self.assertEqual(len(run.events("process_died")), 1, run.account())
        with self.subTest("an agent dies"):
            self.clear(hosts)
            run = self.begun(hosts, self.spec(hosts, 300, 10000))
            self.kill_agent(hosts, 2)
            self.assert_well(run, expected, hosts)
            self.assertEqual(run.events("host_back"), ["h2"], run.account())
        with self.subTest("the client of ssh dies"):
            self.clear(hosts)
            run = self.begun(hosts, self.spec(hosts, 300, 10000))
            client = next(pid for pid, command in hosts.processes(1).items() if command.startswith("ssh ") and "root@h3" in command)
            hosts.run(1, ["kill", "-9", client])
            self.assert_well(run, expected, hosts)
            self.assertEqual(run.events("host_back"), ["h3"], run.account())
        with self.subTest("a host loses its power"):
            self.clear(hosts)
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
        self.assert_nothing_runs(hosts)

    def staged(self, hosts, clocks, pause_us=0):
        """A job whose program and data only the launcher's host has."""
        folder = hosts.path(1, "/opt/mine")
        (folder / "data").mkdir(parents=True)
        shutil.copy(WORKER, folder / "worker")
        (folder / "data" / "numbers").write_bytes(bytes(range(256)) * 40000)
        # Whoever has other numbers is no worker.
        (folder / "run").write_text("#!/bin/sh\n[ $(wc -c < data/numbers) = 10240000 ] && exec ./worker \"$@\"\n")
        (folder / "run").chmod(0o755)
        job = {"command": ["sh", "-c", 'cd /opt/mine && exec ./run "$@"', "run", "workload", str(clocks), str(pause_us), "exchange"],
               "stage": ["/opt/mine"]}
        return self.spec(hosts, clocks, job=job)

    def test_files_that_only_the_launchers_host_has_are_copied_before_anything_is_started(self):
        hosts = self.own_hosts(3)
        expected = self.expected(hosts, 300)
        hosts.run(2, ["sh", "-c", "mkdir /opt/mine && echo older > /opt/mine/worker && chmod 755 /opt/mine/worker"])
        run = self.begun(hosts, self.staged(hosts, 300, 10000))
        self.assertRegex(run.read("logs/agent-h2.log"), r"copied from the launcher's host: 3 files, \d{8} bytes")
        for host in (2, 3):
            for name in ("run", "worker", "data/numbers"):
                self.assertEqual(hosts.path(host, f"/opt/mine/{name}").read_bytes(), hosts.path(1, f"/opt/mine/{name}").read_bytes())
        self.kill_agent(hosts, 2)
        self.assert_well(run, expected, hosts)
        self.assertEqual(run.events("host_back"), ["h2"], run.account())
        self.assertEqual(run.read("logs/agent-h2.log").count("copied from"), 1, "the second agent finds them there")
        self.assertEqual([path.name for path in hosts.path(2, "/opt/mine").iterdir() if "tidegate" in path.name], [])

    def test_files_that_cannot_be_copied_are_named(self):
        hosts = self.own_hosts(2)
        with self.subTest("a host whose disk is full"):
            spec = self.staged(hosts, 10)
            hosts.run(2, ["sh", "-c", "mkdir /opt/mine && mount -t tmpfs -o size=1m tmpfs /opt/mine"])
            run = self.launch(hosts, spec)
            self.assertEqual(run.wait(20), 1, run.account())
            self.assertIn("/opt/mine/data/numbers: cannot be written: No space left on device", run.output)
            hosts.run(2, ["umount", "/opt/mine"])
            self.clear(hosts)
        with self.subTest("nothing to copy"):
            spec["jobs"]["job"]["stage"] = ["/tmp/none"]
            run = self.launch(hosts, spec)
            self.assertEqual(run.wait(20), 2, run.account())
            self.assertIn("jobs.job.stage: /tmp/none: there is no such file or folder", run.output)

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
                spec = self.spec(hosts, 10, start_timeout="3s")
                spec["cluster"]["hosts"]["h2"] = {**good, **change}
                run = self.launch(hosts, spec)
                self.assertEqual(run.wait(20), 1, run.account())
                self.assertIn(says, run.output)
                self.assertLess(run.seconds, 8)
                self.clear(hosts)
        with self.subTest("a host key that is not known"):
            hosts.path(1, "/root/.ssh/known_hosts").write_text("")
            run = self.launch(hosts, self.spec(hosts, 10))
            self.assertEqual(run.wait(20), 1, run.account())
            self.assertIn("Host key verification failed", run.output)
            self.clear(hosts)

    def test_checkpoints_need_a_folder_that_all_hosts_see(self):
        hosts = self.own_hosts(2)
        run = self.launch(hosts, self.spec(hosts, 10, job={"checkpoint": {"every": "5 clocks"}}))
        self.assertEqual(run.wait(20), 1, run.account())
        self.assertIn("this host does not see the run folder /tmp/run of the launcher, and job job writes checkpoints there",
                      run.output)

    def test_only_checkpoints_are_shared_and_the_launchers_host_is_lost(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-checkpoints-"))
        self.addCleanup(shutil.rmtree, folder)
        hosts = self.own_hosts(3, shared=[folder])
        known = hosts.path(1, "/root/.ssh/known_hosts").read_text()
        expected = self.expected(hosts, 300)
        job = {"checkpoint": {"every": "20 clocks", "path": str(folder)}}
        with self.subTest("a shard dies, and all go back"):
            run = self.launch(hosts, self.spec(hosts, 300, 10000, job=job, replicas=0))
            wait_until(lambda: run.has_ended() or len(run.events("checkpoint")) > 1, 60, run.account)
            self.kill(hosts, run, "shard", 2)
            self.assert_well(run, expected, hosts)
            self.assertIn("go back to their last checkpoints (epoch 2)", run.output)
        shutil.rmtree(folder / "job")
        self.clear(hosts)
        with self.subTest("the launcher's host loses its power"):
            run = self.launch(hosts, self.spec(hosts, 300, 30000, job=job))
            wait_until(lambda: run.has_ended() or len(run.events("checkpoint")) > 1, 60, run.account)
            self.assertFalse(run.has_ended(), run.account())
            hosts.lose_power(1)
            run.process.wait()
            hosts.path(2, "/root/.ssh/known_hosts").write_text(known)
            spec = self.spec(hosts, 300, 0, job=job)
            spec["cluster"]["hosts"] = {"h2": {"address": hosts.address(2)}, "h3": spec["cluster"]["hosts"]["h3"]}
            # What was there ends once it has not heard of its launcher for so long.
            wait_until(lambda: not self.foreign(hosts, 2) and not self.foreign(hosts, 3), 3 * UNREACHABLE, "the end of the rest")
            self.launcher = 2
            going_on = Run(hosts, spec, 2, arguments=["--continue"])
            self.addCleanup(going_on.kill)
            self.assertEqual(going_on.wait(60), 0, going_on.account())
            self.assertRegex(going_on.output, r"job job goes on from checkpoint e0001-\d+, clock [1-9]")
            self.assertEqual(going_on.sha256(), expected)
            self.assert_nothing_runs(hosts, lost=[1])

    def test_a_host_that_does_not_see_the_folder_of_checkpoints_is_named(self):
        hosts = self.own_hosts(2)
        for host in hosts.all():
            hosts.path(host, "/tmp/checkpoints").mkdir()  # each its own
        job = {"checkpoint": {"every": "5 clocks", "path": "/tmp/checkpoints"}}
        run = self.launch(hosts, self.spec(hosts, 10, job=job))
        self.assertEqual(run.wait(20), 1, run.account())
        self.assertIn("host h2: jobs.job.checkpoint.path: this host does not see the folder /tmp/checkpoints of the launcher",
                      run.output)
        self.assertEqual(run.events("checkpoint"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
