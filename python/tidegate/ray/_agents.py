"""Agents of hosts in actors of Ray.

The launcher starts an agent with a command, the host's prefix. Here that is ``_relay.py``, which connects to this
process, and this process has an actor on the host's node start `tidegate host`: what the launcher writes to the relay's standard
input goes to the agent's, and what the agent says comes back. An agent ends with its standard input, which ends with
the actor, with the relay, and with this process.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Mapping, Optional

import ray
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from .._program import path_of_program

READ_BYTES = 1 << 16
LOOK_SECONDS = 0.5  # how often a call that is waited for looks whether its relay is still there


class AgentHolder:
    """The actor: it holds one agent."""

    def start(self, command: list[str]) -> None:
        program = command[0] if os.access(command[0], os.X_OK) else path_of_program()
        self._agent = subprocess.Popen([program, *command[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)

    def write(self, data: bytes) -> None:
        """Hands this to the agent's standard input; nothing ends it."""
        assert self._agent.stdin is not None
        try:
            if data:
                self._agent.stdin.write(data)
                self._agent.stdin.flush()
            else:
                self._agent.stdin.close()
        except (BrokenPipeError, ValueError):
            pass  # it has ended, which read() tells

    def read(self) -> bytes:
        """Waits for what the agent says next, and returns it; nothing once it has ended."""
        assert self._agent.stdout is not None
        return os.read(self._agent.stdout.fileno(), READ_BYTES)

    def wait(self) -> int:
        return self._agent.wait()


class Agents:
    """Starts agents on the nodes of a placement group, as relays ask for them; a context manager.

    `hosts`: their addresses by name; the first is this process's own, and has no agent here.
    """

    def __init__(self, group: Any, hosts: Mapping[str, str]) -> None:
        self._group = group
        self._bundles = {name: index for index, name in enumerate(hosts)}
        self._folder = Path(tempfile.mkdtemp(prefix="tidegate-ray-"))  # its owner's alone
        self._path = self._folder / "relays"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Agents:
        self._accepting.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._accepting.join()
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def command(self, host: str) -> list[str]:
        """What starts an agent on this host, before the words of the agent's own command."""
        return [sys.executable, "-I", str(Path(__file__).with_name("_relay.py")), str(self._path), host]

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # it was shut down
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as words:
            asked = json.loads(words.readline())
            holder = self._holder_on(asked["host"])
            relay = _Relay(connection)
            try:
                # The end of the relay is heard also while Ray has not started the actor.
                threading.Thread(target=relay.pass_input, args=(words, holder), daemon=True).start()
                relay.get(holder.start.remote(asked["command"]))
                relay.pass_early_input(holder)
                while said := relay.get(holder.read.remote()):
                    relay.say(said)
                code = relay.get(holder.wait.remote())
            except _RelayIsGone:
                return
            except ray.exceptions.RayError as error:
                relay.say(f"the actor of host {asked['host']}: {error}\n".encode())
                code = 1
            finally:
                ray.kill(holder)
            relay.end(int(code))

    def _holder_on(self, host: str) -> Any:
        where = PlacementGroupSchedulingStrategy(self._group, placement_group_bundle_index=self._bundles[host])
        # A call that waits for words of the agent must not keep others from it.
        kind = ray.remote(num_cpus=0, max_restarts=0, max_concurrency=4, scheduling_strategy=where)(AgentHolder)
        return kind.remote()


class _RelayIsGone(Exception):
    """The launcher has ended the relay."""


class _Relay:
    """The other end of a relay's connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._is_gone = threading.Event()
        self._passing = threading.Lock()
        self._early: Optional[list[bytes]] = []  # until the agent has started

    def get(self, call: Any) -> Any:
        while not ray.wait([call], timeout=LOOK_SECONDS)[0]:
            if self._is_gone.is_set():
                raise _RelayIsGone
        return ray.get(call)

    def pass_input(self, words: Any, holder: Any) -> None:
        try:
            while data := words.read1(READ_BYTES):
                with self._passing:
                    if self._early is not None:
                        self._early.append(data)
                    else:
                        ray.get(holder.write.remote(data))
            if self._early is None:
                ray.get(holder.write.remote(b""))
        except (OSError, ValueError, ray.exceptions.RayError):
            pass
        self._is_gone.set()

    def pass_early_input(self, holder: Any) -> None:
        with self._passing:
            early, self._early = self._early, None
            if early:
                ray.get(holder.write.remote(b"".join(early)))

    def say(self, data: bytes) -> None:
        self._send(b"S" + struct.pack("<I", len(data)) + data)

    def end(self, code: int) -> None:
        self._send(b"E" + struct.pack("<I", code & 0xFF))

    def _send(self, message: bytes) -> None:
        try:
            self._connection.sendall(message)
        except OSError:
            self._is_gone.set()


