"""Two hosts on one machine: two network namespaces joined by a pair of virtual interfaces, shaped to the rate of
a real network or not. Needs root, `ip` and `tc`. What is made is taken away again, also after a failure.

    with TwoHosts(rate="10gbit") as hosts:
        hosts.command(0, ["ucx_perftest"])          # a command line that runs in the first
        hosts.address(1)                            # the address of the second
"""

import contextlib
import os
import shutil
import subprocess
import time

UP_SECONDS = 10
# A token bucket: netem, which also delays, is not in every kernel.
SHAPE = ["burst", "4mb", "latency", "20ms"]


class NotHere(Exception):
    """This machine or user cannot make namespaces; the message says why."""


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, timeout=20, check=False)
    if done.returncode != 0:
        raise NotHere(f"ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


class TwoHosts:
    def __init__(self, rate=None):
        self.rate = rate  # of tc, as in "10gbit"; None: not shaped
        # Names of interfaces have 15 characters at most; the pid tells runs apart.
        self.names = [f"tg{os.getpid()}-{side}" for side in "ab"]
        self.network = f"10.{64 + os.getpid() // 256 % 64}.{os.getpid() % 256}"

    def __enter__(self):
        for program in ("ip", "tc"):
            if not shutil.which(program):
                raise NotHere(f"{program} is not installed (iproute2)")
        try:
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *what):
        self.remove()

    def make(self):
        for name in self.names:
            ip("netns", "add", name)
        ip("link", "add", self.names[0], "netns", self.names[0], "type", "veth",
           "peer", "name", self.names[1], "netns", self.names[1])
        for side, name in enumerate(self.names):
            ip("-n", name, "address", "add", f"{self.address(side)}/24", "dev", name)
            for device in ("lo", name):
                ip("-n", name, "link", "set", device, "up")
            if self.rate:
                # Each shapes what it sends, so both directions have the rate.
                ip("netns", "exec", name, "tc", "qdisc", "add", "dev", name, "root", "tbf", "rate", self.rate, *SHAPE)

        deadline = time.monotonic() + UP_SECONDS
        while not all(self.is_up(side) for side in (0, 1)):
            if time.monotonic() > deadline:
                raise NotHere(f"{self.names} did not come up within {UP_SECONDS} s")
            time.sleep(0.02)

    def is_up(self, side):
        """Programs that look for interfaces leave out one that has no carrier yet."""
        return " state UP " in ip("-n", self.names[side], "-o", "link", "show", "dev", self.names[side])

    def remove(self):
        """The interfaces go with their namespaces."""
        for name in self.names:
            with contextlib.suppress(NotHere, subprocess.TimeoutExpired, OSError):
                ip("netns", "delete", name)

    def address(self, side):
        return f"{self.network}.{side + 1}"

    def device(self, side):
        return self.names[side]

    def command(self, side, words):
        return ["ip", "netns", "exec", self.names[side], *words]
