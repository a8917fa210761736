"""Hosts whose agents are started behind doors (tidegate door), in network namespaces: the same bits, whatever dies, and who does
not have the key does not come in. Skipped where namespaces cannot be made (they need root)."""

import contextlib
import secrets
import socket
import sys
import tempfile

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "e2e"))

from faults import *
from bridged_hosts import BridgedHostsTest

JOB = {"workers": 6, "optimizer": {"name": "adam", "learning_rate": 0.05}}
TIDEGATE = str(BIN / "tidegate")


class Door:
    """`tidegate door` on a host."""

    def __init__(self, hosts, number, key, listen="0.0.0.0:7077"):
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(hosts.command(number, [TIDEGATE, "door", "--key-file", key, "--listen", listen]),
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.process.stdout.readline()
        assert line.startswith("tidegate door: listens at "), line + self.said()
        self.place = line.split()[-1]

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def children(self):
        with contextlib.suppress(OSError):
            return [int(pid) for pid in pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()]
        return []

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()


class Doors(FaultTest, BridgedHostsTest):
    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.key = self.new_key("key")

    def new_key(self, name):
        path = pathlib.Path(self.folder.name) / name
        path.touch(0o600)
        path.write_text(secrets.token_hex(32))
        return str(path)

    def door(self, *arguments, **options):
        door = Door(*arguments, **options)
        self.addCleanup(door.close)
        return door

    def yaml(self, hosts, mode, key=None):
        """The launcher runs on host a."""
        relay = [TIDEGATE, "relay", "--key-file", key or self.key, "--wait", "5s"]
        named = {name: {"address": hosts.address(number), **({"prefix": [*relay, hosts.address(number)]} if number else {})}
                 for number, name in enumerate("abc")}
        spec = json.loads(cluster_yaml({"job": {**JOB, "mode": mode}}, hosts=named, shards=3, replicas=1))
        spec["supervision"] = {"unreachable": "10s", "worker": {"max_restarts": 100}, "shard": {"max_restarts": 100}}
        return json.dumps(spec)

    def relays(self, run):
        return [int(pid) for pid in pathlib.Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children").read_text().split()
                if b"relay" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]

    def test_the_same_bits_whatever_dies(self):
        expected = self.hash_of(self.run_to_end(cluster_yaml({"job": {**JOB, "mode": ["workload", 300, 0, "exchange"]}})))
        hosts = self.bridged_hosts(3)
        doors = {number: self.door(hosts, number, self.key) for number in (1, 2)}
        run = self.launch(self.yaml(hosts, ["workload", 300, 40000, "exchange"]), runner=hosts.command(0))

        def calm(lost):
            wait_until(lambda: self.count_events(run, "host_back") == lost, 30, f"{lost} hosts are back; {run.output}")
            wait_until(lambda: self.count_events(run, "replica_in_sync") >= 3 + lost, 30, f"in sync; {run.output}")

        calm(0)
        os.kill(self.relays(run)[0], signal.SIGKILL)
        calm(1)
        doors[1].close()
        wait_until(lambda: self.count_events(run, "host_lost") == 2, 30, run.account)
        self.door(hosts, 1, self.key)
        calm(2)
        os.kill(doors[2].children()[0], signal.SIGKILL)  # the agent
        calm(3)
        self.assertEqual(run.wait(120), 0, run.account())
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)
        self.assertEqual(doors[2].children(), [])

    def test_a_launcher_that_is_killed_leaves_nothing(self):
        hosts = self.bridged_hosts(3)
        doors = [self.door(hosts, number, self.key) for number in (1, 2)]
        run = self.launch(self.yaml(hosts, ["forever"]), runner=hosts.command(0))
        wait_until(lambda: self.count_events(run, "worker_joined") == 6, 30, f"all have joined; {run.output}")
        processes = run.processes()
        self.assertEqual(len(processes), 13)
        run.process.kill()
        self.assert_all_gone(processes, 15)
        wait_until(lambda: not any(door.children() for door in doors), 15, "agents are gone")

    def test_a_door_that_ends_takes_its_processes_along(self):
        hosts = self.bridged_hosts(3)
        doors = [self.door(hosts, number, self.key) for number in (1, 2)]
        run = self.launch(self.yaml(hosts, ["forever"]), runner=hosts.command(0))
        wait_until(lambda: self.count_events(run, "worker_joined") == 6, 30, f"all have joined; {run.output}")
        network = os.stat(f"/proc/{doors[0].process.pid}/ns/net").st_ino
        there = [p for p in run.processes() if os.stat(f"/proc/{p['pid']}/ns/net").st_ino == network]
        self.assertEqual(len(there), 4)  # a shard, a replica, two workers
        doors[0].process.terminate()
        self.assertEqual(doors[0].process.wait(15), 128 + signal.SIGTERM, doors[0].said())
        self.assert_all_gone(there, 1)

    def test_another_key_is_told(self):
        hosts = self.bridged_hosts(3)
        doors = [self.door(hosts, number, self.key) for number in (1, 2)]
        run = self.launch(self.yaml(hosts, ["forever"], key=self.new_key("other")), runner=hosts.command(0))
        self.assertNotEqual(run.wait(30), 0)
        self.assertIn("has its door the same key?", run.account())
        self.assertEqual([door.children() for door in doors], [[], []])
        # The first refusal ends the run, perhaps before the other relay has come.
        self.assertIn("refused connections, 1 so far", doors[0].said() + doors[1].said())

    def relay(self, door, text, key=None, seconds=20):
        return subprocess.run([TIDEGATE, "relay", "--key-file", key or self.key, "--wait", "0s", door.place], input=text,
                              capture_output=True, text=True, timeout=seconds)

    def test_strangers_keep_nobody_out(self):
        door = self.door(LocalHost(), 0, self.key, "127.0.0.1:0")
        place = ("127.0.0.1", int(door.place.rsplit(":", 1)[1]))
        silent = [socket.create_connection(place, timeout=20) for _ in range(300)]
        for said in (b"GET / HTTP/1.1\r\n\r\n", bytes(1 << 20), secrets.token_bytes(1 << 20), b"\x16\x03\x01\x40\x00" + bytes(1 << 16)):
            with contextlib.suppress(OSError), socket.create_connection(place, timeout=20) as stranger:
                stranger.sendall(said)
                stranger.shutdown(socket.SHUT_WR)
                while stranger.recv(4096):
                    pass
        agent = self.relay(door, "no configuration\n")
        self.assertEqual(agent.returncode, 2, agent)
        self.assertIn("agent", agent.stdout)
        for connection in silent:
            with contextlib.suppress(OSError):
                while connection.recv(4096):
                    pass
            connection.close()
        self.assertIsNone(door.process.poll())
        self.assertRegex(door.said(), r"refused connections, \d+ so far")

    def test_half_of_a_record_holds_nobody_up(self):
        """Between a relay and the door somebody keeps the end of a record back."""
        door = self.door(LocalHost(), 0, self.key, "127.0.0.1:0")
        place = ("127.0.0.1", int(door.place.rsplit(":", 1)[1]))
        with socket.create_server(("127.0.0.1", 0)) as between:
            relay = subprocess.Popen([TIDEGATE, "relay", "--key-file", self.key, f"127.0.0.1:{between.getsockname()[1]}"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.addCleanup(relay.communicate)
            self.addCleanup(relay.kill)
            near, _ = between.accept()
            far = socket.create_connection(place, timeout=20)
            with near, far:
                wait_until(lambda: self.carry(near, far) or door.children(), 20, "the agent is started")
                relay.stdin.write(b"x" * 9000)
                relay.stdin.flush()
                record = b""
                while len(record) < 9000:
                    record += near.recv(65536)
                far.sendall(record[:-100])
                begin = self.processor_seconds(door)
                other = self.relay(door, "no configuration\n")
                self.assertEqual(other.returncode, 2, other)
                self.assertLess(self.processor_seconds(door) - begin, 0.5)

    def carry(self, near, far):
        for come, go in ((near, far), (far, near)):
            come.settimeout(0.05)
            with contextlib.suppress(TimeoutError):
                go.sendall(come.recv(65536))

    def processor_seconds(self, door):
        fields = pathlib.Path(f"/proc/{door.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def test_what_cannot_be_opened_is_told(self):
        short = pathlib.Path(self.folder.name) / "short"
        short.touch(0o600)
        open_to_all = pathlib.Path(self.new_key("open"))
        open_to_all.chmod(0o644)
        for path, why in ((short, "has 0 characters"), (open_to_all, "others may read"), ("/nowhere", "No such file")):
            for command in (["door"], ["relay", "127.0.0.1:1"]):
                done = subprocess.run([TIDEGATE, *command, "--key-file", path], capture_output=True, text=True, timeout=20)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(why, done.stderr)
        closed = subprocess.run([TIDEGATE, "relay", "--key-file", self.key, "--wait", "0s", "127.0.0.1:1"], capture_output=True,
                                text=True, timeout=20)
        self.assertEqual((closed.returncode, closed.stderr),
                         (2, "tidegate relay: no door is open there: 127.0.0.1:1: Connection refused\n"))


class LocalHost:
    @staticmethod
    def command(_, words):
        return words


if __name__ == "__main__":
    main()
