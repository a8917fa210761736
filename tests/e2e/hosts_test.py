"""Two hosts, which are network namespaces: the same bits as on one, payload over the wire between them and through
memory within, and death noticed across. Skipped where namespaces cannot be made (they need root)."""

import json

import sockets
from two_hosts import *

# What UCX's listener takes for a peer of its own, and bytes that none would send.
DATA_PLANE_STRANGER = """
import errno, random, socket, struct, sys
for port in eval(sys.argv[1]):
    with socket.create_connection(port, timeout=20) as stranger:
        try:
            stranger.sendall(struct.pack("<Q", 0xCAFEBABE12345678) + random.Random(4711).randbytes(4096))
            stranger.shutdown(socket.SHUT_WR)
        except ConnectionError:
            pass  # it was closed on
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                raise
"""

# Reads all that crosses an interface until its input ends, and counts the frames, and those with each of the words.
LISTENER = """
import select, socket, sys
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
wire.bind((sys.argv[1], 0))
print("listens", flush=True)
sought = [word.encode() for word in sys.argv[2:]]
counts = [0] * (1 + len(sought))
while True:
    ready = select.select([wire, sys.stdin], [], [])[0]
    if wire not in ready:
        break
    frame = wire.recv(1 << 17)
    counts[0] += 1
    for i, word in enumerate(sought):
        counts[1 + i] += word in frame
print(*counts)
"""

JOB = {"workers": 4, "optimizer": {"name": "adam", "learning_rate": 0.05}}


class Hosts(TwoHostsTest):
    def yaml(self, link, mode, **cluster):
        """The launcher runs on host a, and reaches into b."""
        named = {"a": {"address": link.address(0)},
                 "b": {"address": link.address(1), "prefix": link.command(1, [])}}
        return cluster_yaml({"job": {**JOB, "mode": mode}}, hosts=named, **cluster)

    def hash_of(self, *arguments, **options):
        return self.run_to_end(*arguments, **options).result()["jobs"][0]["parameters_sha256"]

    def test_the_same_bits_as_on_one_host(self):
        link = self.two_hosts()
        alone = self.hash_of(cluster_yaml({"job": {**JOB, "mode": ["workload", 20]}}, shards=3))
        for transport, encrypt in (("auto", False), ("tcp", False), ("ucx", False), ("auto", True)):
            with self.subTest(transport=transport, encrypt=encrypt):
                yaml = self.yaml(link, ["workload", 20], shards=3, transport=transport, chunk_bytes="16KiB")
                yaml = json.dumps({**json.loads(yaml), "security": {"encrypt": encrypt}})
                before = self.received(link)
                self.assertEqual(self.hash_of(yaml, runner=link.command(0, [])), alone)
                # 2 workers have 1 or 2 of 3 shards beyond the wire, 360 KB each way and clock between all.
                self.assertGreater(self.received(link) - before, 20 * 2 * 360_000)

    def test_the_same_bits_over_ipv6(self):
        link = self.two_hosts()
        alone = self.hash_of(cluster_yaml({"job": {**JOB, "mode": ["workload", 20]}}, shards=3))
        for name, number in zip(link.names, (1, 2)):
            hosts.ip("-n", name, "address", "flush", "dev", name)  # the other kind is gone
            hosts.ip("-n", name, "address", "add", f"fd00:7d::{number}/64", "dev", name, "nodad")
        yaml = self.yaml(link, ["workload", 20], shards=3)
        for number in range(2):
            yaml = yaml.replace(f'"{link.address(number)}"', f'"fd00:7d::{number + 1}"')
        self.assertEqual(yaml.count("fd00:7d::"), 2, yaml)
        before = self.received(link)
        self.assertEqual(self.hash_of(yaml, runner=link.command(0, [])), alone)
        self.assertGreater(self.received(link) - before, 20 * 2 * 360_000)

    def test_processes_of_one_host_share_memory(self):
        link = self.two_hosts()
        yaml = self.yaml(link, ["workload", 20], shards=1, shard_hosts=["b"], transport="auto")
        yaml = yaml.replace('"command"', '"hosts": ["b"], "command"')
        before = self.received(link)
        self.hash_of(yaml, runner=link.command(0, []))
        self.assertLess(self.received(link) - before, 20 * 360_000, "only the control plane uses the wire")

    def test_a_death_on_the_other_host_ends_the_run(self):
        link = self.two_hosts()
        run = self.launch(self.yaml(link, ["forever"], shards=2), runner=link.command(0, []))
        processes = run.wait_for_training(7)
        victim = next(p for p in processes if p["role"] == "shard" and p["index"] == 1)
        namespace = pathlib.Path(f"/proc/{victim['pid']}/ns/net").stat().st_ino
        self.assertNotEqual(namespace, pathlib.Path(f"/proc/{run.process.pid}/ns/net").stat().st_ino)
        os.kill(victim["pid"], signal.SIGKILL)
        self.assertEqual(run.wait(20), 3, run.output)
        self.assertIn("shard-1", run.output)
        self.assert_all_gone(processes, 5)

    def test_killing_the_launcher_leaves_nobody(self):
        link = self.two_hosts()
        run = self.launch(self.yaml(link, ["forever"], shards=2), runner=link.command(0, []))
        processes = run.wait_for_training(7)
        run.process.kill()
        self.assert_all_gone(processes, 5)

    def network_of(self, pid):
        return os.readlink(f"/proc/{pid}/ns/net")

    def test_a_spare_takes_a_place_of_its_host(self):
        link = self.two_hosts()
        yaml = self.yaml(link, ["forever"], shards=1).replace('"command"', '"spares": 1, "command"')
        run = self.launch(yaml, runner=link.command(0, []))
        processes = run.wait_for_training(6)
        for spare in ("spare 1", "spare 2"):  # the first of each host
            wait_until(lambda: any("spare_waits" in line and f'"{spare}"' in line
                                   for line in run.events_text().splitlines()), 20, spare + " waits")
        victim = next(p for p in processes if p["role"] == "worker" and p["index"] == 3)
        home = self.network_of(victim["pid"])
        self.assertNotEqual(home, self.network_of(run.process.pid))
        os.kill(victim["pid"], signal.SIGKILL)
        wait_until(lambda: '"spare_placed"' in run.events_text(), 20, "a spare takes the place")
        wait_until(lambda: any(p["index"] == 3 and p["role"] == "worker" and p["pid"] != victim["pid"]
                                    for p in run.listed()), 20, "it is the worker")
        now = next(p for p in run.listed() if p["role"] == "worker" and p["index"] == 3)
        self.assertEqual(self.network_of(now["pid"]), home)
        run.process.send_signal(signal.SIGTERM)
        run.wait(20)
        self.assert_all_gone(processes, 5)

    def test_whoever_listens_to_the_network_reads_nothing_where_it_is_encrypted(self):
        link = self.two_hosts()
        # Frames begin with a magic number, and messages name the job.
        sought = ["TDG1", "a-job-with-a-name"]
        for encrypt in (False, True):
            with self.subTest(encrypt=encrypt):
                spec = json.loads(self.yaml(link, ["workload", 20], shards=3))
                spec = {**spec, "jobs": {sought[1]: spec["jobs"]["job"]}, "security": {"encrypt": encrypt}}
                listener = subprocess.Popen(link.command(1, [sys.executable, "-c", LISTENER, link.names[1], *sought]),
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                self.addCleanup(listener.kill)
                self.assertEqual(listener.stdout.readline(), "listens\n")
                self.run_to_end(json.dumps(spec), runner=link.command(0, []))
                frames, *found = map(int, listener.communicate("", timeout=20)[0].split())
                self.assertGreater(frames, 100)
                for count in found:
                    self.assertEqual(count == 0, encrypt, (frames, found))

    def test_a_stranger_at_the_data_plane_costs_nothing_and_over_ucx_a_restart(self):
        link = self.two_hosts()
        for transport in ("auto", "ucx"):
            with self.subTest(transport=transport):
                self.meet_a_stranger(link, transport)

    def meet_a_stranger(self, link, transport):
        yaml = lambda *pause: self.yaml(link, ["workload", 300, *pause], shards=1, transport=transport)
        expected = self.hash_of(yaml(), runner=link.command(0, []))
        run = self.launch(yaml(10000), runner=link.command(0, []))
        processes = run.wait_for_training(6)
        workers = [p["pid"] for p in processes if p["role"] == "worker"]
        ports = [port for pid in workers for port in sockets.listening(pid)]
        self.assertEqual(len(ports), len(workers))
        subprocess.run(link.command(1, [sys.executable, "-c", DATA_PLANE_STRANGER, repr(ports)]), check=True, timeout=60)
        self.assertEqual(run.wait(90), 0, run.output)
        self.assertEqual(run.result()["jobs"][0]["parameters_sha256"], expected)
        self.assertEqual('"process_restarted"' in run.events_text(), transport == "ucx", "or the stranger has done nothing")
        if transport != "ucx":
            logs = "".join(log.read_text() for log in (run.run_dir / "logs").glob("worker-*.log"))
            self.assertIn("connections refused that did not prove this run's key", logs)

    def lose_all_frames(self, link):
        """Each host sends what is for the other to nobody from now on; nothing says so to either."""
        for side, name in enumerate(link.names):
            hosts.ip("-n", name, "neighbour", "replace", link.address(1 - side), "lladdr", "02:00:00:00:00:99",
                     "dev", link.device(side), "nud", "permanent")

    def test_a_host_that_is_gone_without_a_word_is_noticed(self):
        link = self.two_hosts()
        yaml = {**json.loads(self.yaml(link, ["idle", 60], shards=2)), "supervision": {"unreachable": "5s"}}
        run = self.launch(json.dumps(yaml), runner=link.command(0, []))
        wait_until(lambda: len(run.processes()) == 7, 30, "7 processes")
        coordinator = next(p["pid"] for p in run.processes() if p["role"] == "coordinator")
        wait_until(lambda: len(sockets.connected(coordinator, link.address(1))) >= 3, 20, "all have joined")
        far = [p["pid"] for p in run.processes() if self.network_of(p["pid"]) != self.network_of(coordinator)]
        self.assertEqual(len(far), 3)
        control = (link.address(0), run.control_port())
        calls = lambda pid: [other for _, other in sockets.connected(pid, link.address(0)) if other == control]
        self.lose_all_frames(link)
        # Nobody has anything to say: only what connections do by themselves can show it.
        wait_until(lambda: not sockets.connected(coordinator, link.address(1)), 40, "the coordinator notices it")
        wait_until(lambda: not any(calls(pid) for pid in far), 40, "the others notice it")
        self.assertEqual(run.wait(40), 3, run.output)
        self.assertIn("(supervision.unreachable)", run.output)

    def test_each_host_listens_at_its_own_address_alone(self):
        link = self.two_hosts()
        run = self.launch(self.yaml(link, ["forever"], shards=2), runner=link.command(0, []))
        processes = run.wait_for_training(7)
        here = self.network_of(run.process.pid)
        for process in processes:
            side = 0 if self.network_of(process["pid"]) == here else 1
            addresses = {address for address, _ in sockets.listening(process["pid"])}
            self.assertEqual(addresses, {link.address(side)}, process)
        run.process.terminate()
        run.wait(20)

    def test_the_example_is_valid(self):
        subprocess.run([BIN / "tidegate", "validate", SOURCE / "examples/two_hosts.yaml"], check=True,
                       stdout=subprocess.DEVNULL, timeout=20)

    def test_an_address_that_is_not_there_is_named(self):
        yaml = cluster_yaml({"job": {**JOB, "mode": ["workload", 2]}}, control={"host": "127.0.0.1"},
                            hosts={"a": {"address": "192.0.2.77"}})
        run = self.launch(yaml)
        self.assertNotEqual(run.wait(60), 0)
        logs = "".join(path.read_text() for path in (run.run_dir / "logs").iterdir())
        self.assertIn("no interface of this host has the address 192.0.2.77", logs)

    def test_rdma_without_a_device_is_named(self):
        if os.path.isdir("/sys/class/infiniband") and os.listdir("/sys/class/infiniband"):
            self.skipTest("this machine has an RDMA device")
        run = self.launch(cluster_yaml({"job": {**JOB, "mode": ["workload", 2]}}, transport="rdma"))
        self.assertNotEqual(run.wait(60), 0)
        logs = "".join(path.read_text() for path in (run.run_dir / "logs").iterdir())
        self.assertIn("this host has no RDMA device", logs)


main()
