"""Hosts that do not reach each other: where processes have to, the start ends and says which pairs. Skipped where namespaces
cannot be made (they need root)."""

import contextlib
import socket
import sys
import threading

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "e2e"))

from faults import *
from bridged_hosts import BridgedHostsTest, ip

WORKLOAD = ["workload", 40, 0, "exchange"]


class Surveys(FaultTest, BridgedHostsTest):
    def named(self, hosts, address=None):
        """The launcher runs on host a."""
        address = address or hosts.address
        return {name: {"address": address(number), **({"prefix": hosts.command(number)} if number else {})}
                for number, name in zip(range(len(hosts.names)), "abcdef")}

    def isolate(self, hosts, *numbers):
        """Nothing of the one reaches the other, and nothing says so; both reach the rest."""
        for number in numbers:
            subprocess.run(["ip", "netns", "exec", hosts.hub, "bridge", "link", "set", "dev", f"to-{number}", "isolated", "on"],
                           check=True, timeout=10)

    def start(self, hosts, named, cluster=(), **job):
        yaml = cluster_yaml({"job": {"workers": 3, "mode": WORKLOAD, **job}}, hosts=named, **{"shards": 3, **dict(cluster)})
        return self.launch(yaml, runner=hosts.command(0))

    def assert_ended_at_start(self, run, *pairs):
        """`pairs`: of names with addresses, and why."""
        self.assertEqual(run.wait(30), 1, run.account())
        for one, other, why in pairs:
            self.assertRegex(run.output, rf"{re.escape(one)} does not reach {re.escape(other)}: at port [0-9]+: {why}")
        said = next(line for line in run.output.splitlines() if "hosts that have to reach each other do not" in line)
        self.assertEqual(said.count(" does not reach "), len(pairs), said)
        self.assertIn("(cluster.hosts.*.address)", said)
        started = [event["detail"] for event in map(json.loads, run.events_text().splitlines())
                   if event["kind"] == "process_started"]
        self.assertEqual([each for each in started if not each.startswith("coordinator")], [], "nobody waits for a connection")
        self.assert_nothing_left(run)

    def listening(self, hosts, number):
        """Ports of host `number`, and the pids of who listens there."""
        lines = subprocess.run(hosts.command(number, ["ss", "-Hltnp"]), capture_output=True, text=True, timeout=10).stdout.splitlines()
        return {int(line.split()[3].rsplit(":", 1)[1]): set(map(int, re.findall(r"pid=([0-9]+)", line))) for line in lines}

    def test_two_hosts_between_which_packets_are_dropped(self):
        hosts = self.bridged_hosts(3)
        self.isolate(hosts, 1, 2)
        b, c = (f"{name} ({hosts.address(number)})" for number, name in ((1, "b"), (2, "c")))
        dropped = "no answer within 1500 ms, as where a firewall drops what is sent"
        self.assert_ended_at_start(self.start(hosts, self.named(hosts)), (b, c, dropped), (c, b, dropped))

    def test_a_host_that_has_no_route_to_another(self):
        hosts = self.bridged_hosts(3)
        ip("-n", hosts.names[2], "route", "add", "unreachable", f"{hosts.address(1)}/32")
        b, c = (f"{name} ({hosts.address(number)})" for number, name in ((1, "b"), (2, "c")))
        self.assert_ended_at_start(self.start(hosts, self.named(hosts)), (b, c, "no answer within 1500 ms"),
                                   (c, b, "(No route to host|Network is unreachable)"))

    def test_addresses_of_version_6(self):
        hosts = self.bridged_hosts(3)
        address = "fd77::{}".format
        for number, name in enumerate(hosts.names):
            ip("-n", name, "address", "add", f"{address(number + 1)}/64", "dev", name, "nodad")
        named = self.named(hosts, lambda number: address(number + 1))
        run = self.start(hosts, named)
        self.assertEqual(run.wait(60), 0, run.account())
        self.isolate(hosts, 1, 2)
        dropped = "no answer within 1500 ms"
        self.assert_ended_at_start(self.start(hosts, named), ("b (fd77::2)", "c (fd77::3)", dropped),
                                   ("c (fd77::3)", "b (fd77::2)", dropped))

    def test_an_address_that_is_another_hosts(self):
        hosts = self.bridged_hosts(3)
        named = self.named(hosts)
        named["b"]["address"] = named["c"]["address"]
        run = self.start(hosts, named)
        self.assertEqual(run.wait(30), 1, run.account())
        self.assertIn(f"a ({hosts.address(0)}) does not reach b ({hosts.address(2)}): no agent can listen there: "
                      f"listening on {hosts.address(2)}:0: Cannot assign requested address", run.output)

    def test_a_pair_that_no_process_needs_is_told_and_the_run_goes_on(self):
        hosts = self.bridged_hosts(3)
        self.isolate(hosts, 1, 2)
        run = self.start(hosts, self.named(hosts), cluster={"shards": 1, "shard_hosts": ["a"]})
        self.assertEqual(run.wait(60), 0, run.account())
        self.assertIn(f"warning: b ({hosts.address(1)}) does not reach c ({hosts.address(2)}): ", run.output)
        self.assertEqual(self.count_events(run, "host_unreached"), 2)
        self.assertEqual(self.count_events(run, "hosts_surveyed"), 1)
        self.assert_nothing_left(run)

    def test_strangers_at_the_ports_while_they_are_open(self):
        """They say something, or nothing, and stay; it changes nothing, and the ports are closed after that."""
        hosts = self.bridged_hosts(3)
        self.isolate(hosts, 1, 2)  # so the survey takes its time
        run = self.start(hosts, self.named(hosts), cluster={"shards": 1, "shard_hosts": ["a"]}, mode=["workload", 400, 10000, "exchange"])
        strangers, open_ports = [], {}

        def bother():
            with open(f"/var/run/netns/{hosts.names[1]}") as space:
                os.setns(space.fileno(), os.CLONE_NEWNET) if hasattr(os, "setns") else libc_setns(space.fileno())
            for port in open_ports:
                for text in (b"", os.urandom(100_000)):
                    stranger = socket.create_connection((hosts.address(1), port), 5)
                    strangers.append(stranger)
                    with contextlib.suppress(OSError):
                        stranger.sendall(text)

        def of_agent():
            mark = run.run_dir and run.run_dir / "agents/b.json"
            if not mark or not mark.exists():
                return {}
            pid = json.loads(mark.read_text())["pid"]
            return {port: pids for port, pids in self.listening(hosts, 1).items() if pid in pids}
        open_ports = wait_until(of_agent, 20, f"the agent of b listens; {run.output}")
        thread = threading.Thread(target=bother)
        thread.start()
        thread.join()
        self.assertEqual(len(strangers), 2)
        self.wait_for_a_clock(run)
        self.assertEqual(of_agent(), {}, "after the survey it listens no longer")
        self.assertEqual(run.wait(60), 0, run.account())
        self.assertEqual(self.count_events(run, "host_unreached"), 2, "of the two that cannot")
        for stranger in strangers:
            stranger.close()

    def test_thirty_two_hosts(self):
        """How long that takes is printed; nobody's pass or fail."""
        hosts = self.bridged_hosts(32)
        named = {f"h{number}": {"address": hosts.address(number), **({"prefix": hosts.command(number)} if number else {})}
                 for number in range(32)}
        run = self.start(hosts, named, cluster={"shards": 1}, workers=32, command=["false"])
        self.assertNotEqual(run.wait(60), 0, run.account())
        told = [event["detail"] for event in map(json.loads, run.events_text().splitlines()) if event["kind"] == "hosts_surveyed"]
        self.assertEqual(len(told), 1, run.account())
        print(f"surveyed: {told[0]}", flush=True)


def libc_setns(descriptor):
    """Of this thread alone (Python has it from version 3.12 on)."""
    import ctypes
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, 0x40000000) != 0:
        raise OSError(ctypes.get_errno(), "setns")


main()
