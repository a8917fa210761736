"""Whoever can reach a port of a cluster, and does not know the run's token, neither ends the run nor changes it."""

import hashlib
import hmac
import json
import re
import struct
import unittest

import sockets
from cluster import *
from strangers import CHALLENGE, CONFIRMATION, NONCE, SILENT, VERSION, as_nobody, attack_all, connect


class Caller:
    """The calling side of the handshake (policies/protocol/handshake.hpp), and a record of what it has said."""

    def __init__(self, endpoint, service="coordinator"):
        self.connection = connect(endpoint)
        self.label = f"tidegate control port {service} {endpoint[1]}".encode()

    def read(self, size):
        data = b""
        while len(data) < size and (more := self.connection.recv(size - len(data))):
            data += more
        return data

    def prove(self, token):
        """Returns True if the listener has confirmed, and proven itself."""
        key = hmac.new(struct.pack("<Q", token), self.label, hashlib.sha256).digest()[:8]
        challenge = self.read(CHALLENGE)
        nonces = challenge[1:] + os.urandom(NONCE)
        digest = lambda label: hmac.new(key, label + VERSION + nonces, hashlib.sha256).digest()
        self.said = VERSION + nonces[NONCE:] + digest(b"tidegate control caller..")
        self.connection.sendall(self.said)
        return self.read(CONFIRMATION) == digest(b"tidegate control listener")


class HostilePorts(ClusterTest):
    def cluster(self, mode, **cluster):
        return cluster_yaml({"job": {"workers": 2, "mode": mode}}, **cluster)

    def hash_of(self, run):
        return run.result()["jobs"][0]["parameters_sha256"]

    def listening(self, run, processes):
        """By process, the launcher's too."""
        named = {f"{p['role']}-{p['index']}": p["pid"] for p in processes} | {"launcher": run.process.pid}
        return {name: sorted(sockets.listening(pid)) for name, pid in named.items()}

    def assert_end(self, run):
        run.process.terminate()
        self.assertEqual(run.wait(20), 1, run.output)

    def token_of(self, process):
        entries = pathlib.Path(f"/proc/{process['pid']}/environ").read_bytes().split(b"\0")
        return next(e for e in entries if e.startswith(b"TIDEGATE_TOKEN=")).split(b"=")[1].decode()

    def caller(self, endpoint):
        caller = Caller(endpoint)
        self.addCleanup(caller.connection.close)
        return caller

    def test_on_one_host_nothing_listens_but_the_control_port_on_loopback(self):
        run = self.launch(self.cluster(["forever"]))
        processes = run.wait_for_training(5)
        found = self.listening(run, processes)
        self.assertEqual(found.pop("coordinator-0"), [("127.0.0.1", run.control_port())])
        self.assertEqual({name: ports for name, ports in found.items() if ports}, {})
        self.assert_end(run)

    def test_over_tcp_on_one_host_all_listen_on_loopback(self):
        for transport in ("tcp", "ucx"):
            with self.subTest(transport=transport):
                run = self.launch(self.cluster(["forever"], transport=transport))
                found = self.listening(run, run.wait_for_training(5))
                addresses = {address for ports in found.values() for address, _ in ports}
                self.assertEqual(addresses, {"127.0.0.1"}, found)
                self.assertEqual(found["launcher"], [])
                self.assert_end(run)

    @unittest.skipIf(os.geteuid() != 0, "needs root, to be another user")
    def test_strangers_change_nothing(self):
        calm = self.hash_of(self.run_to_end(self.cluster(["workload", 400, 0, "exchange"])))
        for transport in ("auto", "tcp"):
            with self.subTest(transport=transport):
                self.meet_strangers(transport, calm)

    def meet_strangers(self, transport, calm):
        run = self.launch(self.cluster(["workload", 400, 25000, "exchange"], transport=transport))
        processes = run.wait_for_training(5)
        listening = self.listening(run, processes)
        control = ("127.0.0.1", run.control_port())
        data = [port for found in listening.values() for port in found if port != control]
        self.assertEqual(len(data), 0 if transport == "auto" else 4, listening)
        strangers = as_nobody(lambda: attack_all([control, *data])[0])
        self.assertGreater(strangers, SILENT)
        coordinator = next(p["pid"] for p in processes if p["role"] == "coordinator")
        peak = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{coordinator}/status").read_text())
        self.assertLess(int(peak.group(1)), 256 << 10, "kB of memory, whatever a stranger claims to send")
        self.assertEqual(run.wait(90), 0, run.output)
        self.assertEqual(self.hash_of(run), calm)
        self.assertEqual(sorted(run.started_pids()), sorted(p["pid"] for p in processes), "nobody died")
        log = (run.run_dir / "logs/coordinator-0.log").read_text()
        counted = re.findall(r"control port: (\d+) connections of strangers refused", log)
        self.assertEqual(int(counted[-1]), strangers, log)
        for name in ("shard-0", "worker-job-0") if data else ():
            self.assertIn("connections refused that did not prove this run's key",
                          (run.run_dir / f"logs/{name}.log").read_text())

    def test_a_recorded_handshake_is_refused(self):
        run = self.launch(self.cluster(["forever"]))
        processes = run.wait_for_training(5)
        endpoint = ("127.0.0.1", run.control_port())
        token = int(self.token_of(processes[0]), 16)
        honest = self.caller(endpoint)
        self.assertTrue(honest.prove(token), "the protocol is as this test speaks it")
        self.assertFalse(self.caller(endpoint).prove(token ^ 1))
        for _ in range(2):
            replayed = self.caller(endpoint)
            self.assertEqual(len(replayed.read(CHALLENGE)), CHALLENGE)
            replayed.connection.sendall(honest.said)
            self.assertEqual(replayed.read(CONFIRMATION), b"")
        self.assertTrue(self.caller(endpoint).prove(token), "and goes on to let others in")
        self.assertEqual([p["pid"] for p in run.processes()], [p["pid"] for p in processes])
        self.assert_end(run)

    @unittest.skipIf(os.geteuid() != 0, "needs root, to be another user")
    def test_other_users_do_not_see_the_token(self):
        run = self.launch(self.cluster(["forever"]))
        processes = run.wait_for_training(5)
        token = self.token_of(processes[0])

        def readable():
            seen = 0
            for process in processes:
                folder = pathlib.Path(f"/proc/{process['pid']}")
                assert token not in (folder / "cmdline").read_bytes().decode()
                try:
                    seen += len((folder / "environ").read_bytes())
                except PermissionError:
                    continue
            return seen
        self.assertEqual(as_nobody(readable), 0)
        # The launcher's own mark has it, in a folder that is nobody else's, and for nobody else to read.
        self.assertEqual(run.run_dir.stat().st_mode & 0o077, 0)
        for path in [p for p in run.run_dir.rglob("*") if p.is_file()]:
            if path.stat().st_mode & 0o077:
                self.assertNotIn(token.encode(), path.read_bytes(), path)
        self.assertEqual((run.run_dir / "launcher.json").stat().st_mode & 0o077, 0)
        self.assert_end(run)


main()
