"""Runs the processes of one measurement to their end, and ends every one of them when time is up or something
else goes wrong: by pid, children of children too."""

import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import tempfile
import time

GRACE_SECONDS = 5  # from SIGTERM to SIGKILL


@dataclasses.dataclass
class Ended:
    codes: list  # exit codes, in the order of the commands; None: it was ended because time was up
    output: str  # of the first command
    errors: str  # of all

    @property
    def ok(self):
        return all(code == 0 for code in self.codes)

    def why(self):
        """One line for people."""
        lines = [line for line in self.errors.splitlines() if line.strip()]
        told = "; ".join(lines[-3:])[:300]
        return ("took too long" if None in self.codes else f"exit codes {self.codes}") + (f": {told}" if told else "")


def identity(pid):
    """(pid, start time): a pid alone may be somebody else's by now. None when there is no such process."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else (pid, fields[19])


def parents():
    """pid -> pid of the parent, of all processes."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError):
            found[int(entry)] = int(pathlib.Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return found


def family(roots):
    """The identities of processes and of all that descend from them."""
    of, members = parents(), set(roots)
    while True:
        more = {pid for pid, parent in of.items() if parent in members} - members
        if not more:
            return {identity(pid) for pid in members} - {None}
        members |= more


def end(children):
    """Ends processes that we started and what they started: asks first, then kills."""
    alive = [child for child in children if child.poll() is None]
    if not alive:
        return
    members = family([child.pid for child in alive])
    for child in alive:
        child.terminate()
    wait_for_end(members, alive)
    for pid, born in members:
        if identity(pid) == (pid, born):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    wait_for_end(members, alive)
    for child in alive:
        child.wait()


def wait_for_end(members, children):
    """Until all are gone, but not for long. Children are reaped on the way."""
    deadline = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < deadline and any(identity(pid) == (pid, born) for pid, born in members):
        for child in children:
            child.poll()
        time.sleep(0.02)


def run(commands, environment, seconds):
    """Starts all commands at once and waits for them."""
    children = []
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        try:
            for command in commands:
                children.append(subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=errors if children else output, stderr=errors,
                    env={**os.environ, **environment}))
            codes = wait(children, time.monotonic() + seconds)
        finally:
            end(children)
        output.seek(0)
        errors.seek(0)
        return Ended(codes, output.read(), errors.read())


def wait(children, deadline):
    """Exit codes; one that fails takes the patience for the others along."""
    codes = [None] * len(children)
    while None in codes and time.monotonic() < deadline:
        codes = [child.poll() for child in children]
        if any(code not in (None, 0) for code in codes):
            deadline = min(deadline, time.monotonic() + GRACE_SECONDS)
        time.sleep(0.005)
    return codes
