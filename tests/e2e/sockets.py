"""Sockets of processes, from /proc: what listens, and who is connected to whom."""

import ipaddress
import os
import pathlib
import re
import struct

LISTENING, ESTABLISHED = "0A", "01"


def inodes(pid):
    """Of the sockets that a process has open."""
    found = set()
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            match = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(link))
        except OSError:
            continue  # closed meanwhile
        if match:
            found.add(match.group(1))
    return found


def endpoint(text):
    """"0100007F:1F90" is ("127.0.0.1", 8080)."""
    address, port = text.split(":")
    words = [struct.pack("<I", int(address[at:at + 8], 16)) for at in range(0, len(address), 8)]
    return str(ipaddress.ip_address(b"".join(words))), int(port, 16)


def entries(pid, kinds):
    """(kind, state, own endpoint, the other's) of each of its sockets of these kinds; none of a process that has ended."""
    try:
        own = inodes(pid)
        tables = [(kind, pathlib.Path(f"/proc/{pid}/net/{kind}").read_text()) for kind in kinds]
    except (FileNotFoundError, ProcessLookupError):
        return
    for kind, table in tables:
        for line in table.splitlines()[1:]:
            fields = line.split()
            if fields[9] in own:
                yield kind, fields[3], endpoint(fields[1]), endpoint(fields[2])


def listening(pid):
    """The endpoints at which a process can be reached from outside: TCP that listens, and all of UDP and raw."""
    tcp = [own for _, state, own, _ in entries(pid, ("tcp", "tcp6")) if state == LISTENING]
    return tcp + [own for _, _, own, _ in entries(pid, ("udp", "udp6", "raw", "raw6"))]


def connected(pid, address):
    """The process's TCP connections with this address."""
    return [(own, other) for _, state, own, other in entries(pid, ("tcp", "tcp6"))
            if state == ESTABLISHED and other[0] == address]
