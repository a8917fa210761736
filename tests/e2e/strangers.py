"""What strangers do to a port: processes of another user who do not know the run's token."""

from concurrent.futures import ThreadPoolExecutor
import encodings.idna  # noqa: F401  what connecting imports, another user may not be able to read
import os
import random
import socket
import struct
import traceback

NOBODY = 65534
# Of CAF's protocol: a header is operation, padding, flags (4 bytes), length of payload (4), and 24 more.
CRASHES_CAF = bytes(8) + b"\xff" * 4 + bytes(100)
TWO_GIGABYTES = bytes(4) + struct.pack(">I", 0x7FFFFFFF) + bytes(24)
SILENT = 300  # more than the gate has room for

VERSION = b"\x01"
NONCE = 32
CHALLENGE = 1 + NONCE
CHALLENGE_MOST = 1 + 2 * NONCE  # of the data plane
CONFIRMATION = 32


def connect(endpoint):
    return socket.create_connection(endpoint, timeout=20)


def wait_for_end(connection):
    """Until the other side has closed it; True unless it says more than its challenge."""
    received = 0
    try:
        while data := connection.recv(4096):
            received += len(data)
    except ConnectionError:
        pass
    return received <= CHALLENGE_MOST


def say(endpoint, data):
    """Returns True if the connection was ended without an answer."""
    with connect(endpoint) as connection:
        try:
            connection.sendall(data)
        except ConnectionError:
            pass
        return wait_for_end(connection)


def attack(endpoint):
    """Everything there is, at one port. Returns how many connections that were."""
    chance = random.Random(4711)
    silent = [connect(endpoint) for _ in range(SILENT)]
    said = [CRASHES_CAF, TWO_GIGABYTES, VERSION, VERSION + bytes(64), VERSION + bytes(64) + CRASHES_CAF]
    said += [first + chance.randbytes(4 << 20) for first in (b"", VERSION, bytes(8))]
    for data in said:
        assert say(endpoint, data), "it answered"
    for connection in silent:
        assert wait_for_end(connection), "it answered"
        connection.close()
    return len(silent) + len(said)


def attack_all(endpoints):
    """The same at several ports at once. Returns how many connections that were at each."""
    with ThreadPoolExecutor(len(endpoints)) as strangers:
        return list(strangers.map(attack, endpoints))


def as_nobody(act):
    """Calls it in a process of another user; returns its number."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(write_end, str(act()).encode())
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as answer:
        text = answer.read()
    _, code = os.waitpid(pid, 0)
    assert code == 0, "the hostile process has failed; above is why"
    return int(text)


def flood(endpoint, connections, size, seed):
    """So many connections at least, one after another, and with them so many random bytes as the other side's sockets take.
    Returns the number of connections."""
    chance = random.Random(seed)
    block = chance.randbytes(1 << 20)
    made = taken = 0
    while made < connections or taken < size:
        with connect(endpoint) as connection:
            made += 1
            try:
                # What opens like a proof, like messages of CAF's, or like nothing at all.
                connection.sendall(chance.choice((VERSION, bytes(8), CRASHES_CAF, b"")))
                while taken < size:
                    taken += connection.send(block)
            except (ConnectionError, TimeoutError):
                pass  # it was closed, as it should be
    return made
