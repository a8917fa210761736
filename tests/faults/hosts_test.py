"""Hosts that are lost: their agents die, they are cut off, they come back. What was on them goes on elsewhere, with the
same bits. Skipped where namespaces cannot be made (they need root)."""

import contextlib
import sys

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "e2e"))

from faults import *
from bridged_hosts import BridgedHostsTest

JOB = {"workers": 6, "optimizer": {"name": "adam", "learning_rate": 0.05}}
UNREACHABLE = 10  # seconds: a launcher that waits for a disk says nothing to its agents meanwhile


class Hosts(FaultTest, BridgedHostsTest):
    def named(self, hosts, **of_all):
        """The launcher runs on host a."""
        return {name: {"address": hosts.address(number), **of_all,
                       **({"prefix": hosts.command(number)} if number else {})}
                for number, name in zip(range(len(hosts.names)), "abcdef")}

    def yaml(self, named, mode, job=(), **cluster):
        spec = json.loads(cluster_yaml({"job": {**JOB, "mode": mode, **dict(job)}}, hosts=named, shards=3, replicas=1,
                                       **cluster))
        spec["supervision"] = {"unreachable": f"{UNREACHABLE}s", "worker": {"max_restarts": 100},
                               "shard": {"max_restarts": 100}}
        return json.dumps(spec)

    def expected(self, clocks):
        return self.hash_of(self.run_to_end(cluster_yaml({"job": {**JOB, "mode": ["workload", clocks, 0, "exchange"]}})))

    def agent_of(self, run, host):
        """The pid of the agent that the host has now."""
        def pid():
            try:
                mark = json.loads((run.run_dir / f"agents/{host}.json").read_text())
            except (OSError, ValueError):
                return None
            return mark["pid"] if started(mark["pid"]) == mark["started"] else None
        return wait_until(pid, 20, f"host {host} has an agent; {run.output}")

    def host_of(self, pid):
        return os.readlink(f"/proc/{pid}/ns/net")

    def processes_of(self, run, pid):
        """Those that are on the host of this pid."""
        host = self.host_of(pid)
        found = []
        for process in run.processes():
            with contextlib.suppress(OSError):
                if self.host_of(process["pid"]) == host:
                    found.append(process)
        return found

    def events(self, run, what):
        return [json.loads(line)["detail"] for line in run.events_text().splitlines() if json.loads(line)["kind"] == what]

    def assert_well(self, run, expected, seconds=120):
        self.assertEqual(run.wait(seconds), 0, run.account())
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)
        self.assertEqual([host for host in ("b", "c") if self.is_left(run, host)], [], "agents that are left")

    def is_left(self, run, host):
        mark = json.loads((run.run_dir / f"agents/{host}.json").read_text())
        return started(mark["pid"]) == mark["started"]

    def test_an_agent_that_dies_takes_its_processes_along_and_is_started_again(self):
        hosts = self.bridged_hosts(3)
        expected = self.expected(200)
        for aggregators in ("none", "per_host", "per_rack"):
            with self.subTest(aggregators=aggregators):
                run = self.launch(self.yaml(self.in_racks(hosts), ["workload", 200, 10000, "exchange"],
                                            job={"aggregators": aggregators}), runner=hosts.command(0))
                self.wait_for_a_clock(run)
                wait_until(lambda: self.count_events(run, "replica_in_sync") >= 3, 20, f"in sync; {run.output}")
                agent = self.agent_of(run, "b")
                lost = self.processes_of(run, agent)
                self.assertGreaterEqual(len(lost), 4, lost)  # a shard, a replica, two workers
                os.kill(agent, signal.SIGKILL)
                self.assert_all_gone(lost, 5)
                wait_until(lambda: self.events(run, "host_back") == ["b"], 30, f"b is back; {run.output}")
                self.assertNotEqual(self.agent_of(run, "b"), agent)
                self.assert_well(run, expected)
                self.assertEqual(len(self.events(run, "host_lost")), 1, run.events_text())

    def in_racks(self, hosts):
        """The hosts after the first are in one rack."""
        return {name: {**host, **({} if name == "a" else {"rack": "r"})} for name, host in self.named(hosts).items()}

    def test_a_rack_that_is_lost_has_no_shard_along_with_its_replica(self):
        hosts = self.bridged_hosts(3)
        expected = self.expected(200)
        run = self.launch(self.yaml(self.in_racks(hosts), ["workload", 200, 10000, "exchange"],
                                    job={"aggregators": "per_rack"}), runner=hosts.command(0))
        self.wait_for_a_clock(run)
        wait_until(lambda: self.count_events(run, "replica_in_sync") >= 3, 20, f"in sync; {run.output}")
        # One for each host, and one for the rack.
        self.assertEqual(run.events_text().count("aggregator_joined"), 4, run.events_text())
        agents = [self.agent_of(run, name) for name in ("b", "c")]
        lost = [process for agent in agents for process in self.processes_of(run, agent)]
        for agent in agents:
            os.kill(agent, signal.SIGKILL)
        self.assert_all_gone(lost, 5)
        self.assert_well(run, expected)
        self.assertEqual(len(self.events(run, "host_lost")), 2, run.events_text())

    def test_a_host_that_is_cut_off_ends_its_processes_and_others_take_their_places(self):
        hosts = self.bridged_hosts(3)
        expected = self.expected(400)
        run = self.launch(self.yaml(self.named(hosts), ["workload", 400, 20000, "exchange"]), runner=hosts.command(0))
        self.wait_for_a_clock(run)
        wait_until(lambda: self.count_events(run, "replica_in_sync") >= 3, 20, f"in sync; {run.output}")
        agent = self.agent_of(run, "c")
        lost = self.processes_of(run, agent)
        here = self.host_of(agent)
        hosts.cut(2)
        # Neither side hears of the other; each ends after the same time.
        self.assert_all_gone([*lost, {"pid": agent}], 3 * UNREACHABLE)
        wait_until(lambda: len(self.events(run, "host_lost")) == 1, 20, f"c is lost; {run.output}")
        self.assertIn("no word from its agent for 10000 ms (supervision.unreachable)", self.events(run, "host_lost")[0])
        wait_until(lambda: len(run.processes()) == 1 + 6 + 6, 30, f"all are somewhere; {run.output}")
        self.assertEqual([p for p in run.processes() if self.host_of(p["pid"]) == here], [])
        hosts.join(2)
        wait_until(lambda: "c" in self.events(run, "host_back"), 30, f"c is back; {run.output}")
        self.assert_well(run, expected)

    def test_a_short_cut_costs_nothing(self):
        hosts = self.bridged_hosts(3)
        expected = self.expected(200)
        run = self.launch(self.yaml(self.named(hosts), ["workload", 200, 10000, "exchange"]), runner=hosts.command(0))
        self.wait_for_a_clock(run)
        hosts.cut(1)
        time.sleep(UNREACHABLE / 4)  # so long is the cut
        hosts.join(1)
        self.assert_well(run, expected)
        self.assertEqual(self.events(run, "host_lost"), [])
        self.assertEqual(self.count_events(run, "process_restarted"), 0)

    def test_a_host_that_stays_away(self):
        """Its agent cannot be started any more: the others have room, or the run ends and says why."""
        hosts = self.bridged_hosts(3)
        expected = self.expected(200)
        for room, code in ((None, 0), (0, 3)):
            with self.subTest(room=room):
                named = self.named(hosts, **({} if room is None else {"room": room}))
                gone = pathlib.Path(tempfile.mkdtemp()) / "gone"
                self.addCleanup(shutil.rmtree, gone.parent)
                named["b"]["prefix"] = ["sh", "-c", f'[ ! -e {gone} ] || {{ echo no power; exit 7; }}; exec "$@"', "sh",
                                        *hosts.command(1)]
                run = self.launch(self.yaml(named, ["workload", 200, 10000, "exchange"], start_timeout="5s"),
                                  runner=hosts.command(0))
                self.wait_for_a_clock(run)
                agent = self.agent_of(run, "b")
                gone.touch()
                os.kill(agent, signal.SIGKILL)
                if code == 0:
                    self.assert_well(run, expected)
                    continue
                self.assertEqual(run.wait(60), code, run.account())
                self.assertIn("no host has had room for ", run.output)
                self.assertIn("(hosts.*.room, cluster.start_timeout): host b: its agent", run.output)
                self.assertIn("no power", run.output)
                self.assert_nothing_left(run)

    def test_a_launcher_that_is_killed_leaves_nobody_on_any_host_and_is_resumed(self):
        hosts = self.bridged_hosts(3)
        expected = self.expected(200)
        run = self.launch(self.yaml(self.named(hosts), ["workload", 200, 10000, "exchange"],
                                    job={"checkpoint": {"every": "20 clocks"}}), runner=hosts.command(0))
        self.wait_for_a_clock(run)
        agents = [{"pid": self.agent_of(run, host)} for host in "bc"]
        listed = run.processes()
        run.process.kill()
        run.process.wait()
        self.assert_all_gone([*listed, *agents], 5)
        run.start([*hosts.command(0), BIN / "tidegate", "launch", "--resume", str(run.run_dir)], run.folder)
        self.assert_well(run, expected)

    def test_a_launcher_that_stands_still_loses_its_hosts_and_goes_back(self):
        """Agents hear nothing of it, and end what they have; it goes on from a checkpoint once it moves again."""
        hosts = self.bridged_hosts(3)
        expected = self.expected(400)
        run = self.launch(self.yaml(self.named(hosts), ["workload", 400, 50000, "exchange"],
                                    job={"checkpoint": {"every": "20 clocks"}}), runner=hosts.command(0))
        wait_until(lambda: self.count_events(run, "checkpoint") > 0, 30, f"a checkpoint; {run.output}")
        agents = {host: self.agent_of(run, host) for host in "bc"}
        theirs = [p for agent in agents.values() for p in self.processes_of(run, agent)]
        self.assertEqual(len(theirs), 8, theirs)
        os.kill(run.process.pid, signal.SIGSTOP)
        self.assert_all_gone(theirs, 3 * UNREACHABLE)
        for host in agents:
            wait_until(lambda: "no word from the launcher for 10000 ms (supervision.unreachable)" in
                       (run.run_dir / f"logs/agent-{host}.log").read_text(), 5, f"the agent of {host} says why")
        os.kill(run.process.pid, signal.SIGCONT)
        self.assert_well(run, expected)
        self.assertEqual(self.count_events(run, "epoch"), 1, run.events_text())

    def test_what_an_agent_has_left_is_ended_by_the_next(self):
        """A worker's own child outlives an agent that is killed; the one after it ends that, and nobody of another host."""
        hosts = self.bridged_hosts(3)
        job = {"command": ["sh", "-c", f"sleep 1000 & exec {WORKER} workload 200 10000 exchange"]}
        run = self.launch(self.yaml(self.named(hosts), ["workload"], job=job), runner=hosts.command(0))
        self.wait_for_a_clock(run)

        def sleepers(of):
            found = []
            for process in pathlib.Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if (process / "cmdline").read_bytes() == b"sleep\x001000\x00" and \
                            f"TIDEGATE_RUN_DIR={run.run_dir}".encode() in (process / "environ").read_bytes() and \
                            self.host_of(process.name) == of:
                        found.append(int(process.name))
            return found

        agent = self.agent_of(run, "b")
        there, elsewhere = self.host_of(agent), self.host_of(self.agent_of(run, "c"))
        left, others = sleepers(there), sleepers(elsewhere)
        self.assertEqual((len(left), len(others)), (2, 2))
        os.kill(agent, signal.SIGKILL)
        wait_until(lambda: self.events(run, "host_back") == ["b"], 30, f"b is back; {run.output}")
        self.assertIn("processes of an earlier agent were ended", (run.run_dir / "logs/agent-b.log").read_text())
        self.assertEqual([pid for pid in left if alive(pid)], [])
        self.assertEqual([pid for pid in others if not alive(pid)], [])
        self.assert_well(run, self.expected(200))

    def test_a_host_that_is_not_there_at_first_ends_the_run(self):
        hosts = self.bridged_hosts(2)
        named = self.named(hosts)
        for change, says in (({"prefix": ["sh", "-c", "echo no route to b; exit 255"]}, "no route to b"),
                             ({"address": "no.such.host.invalid"}, "its address 'no.such.host.invalid'"),
                             ({"prefix": ["no_such_program"]}, "cluster.hosts.b.prefix: program 'no_such_program'")):
            with self.subTest(change=change):
                run = self.launch(self.yaml({**named, "b": {**named["b"], **change}}, ["forever"]),
                                  runner=hosts.command(0))
                self.assertIn(run.wait(20), (1, 2), run.output)
                self.assertIn(says, run.output)
                self.assertLess(run.seconds, 10)


main()
