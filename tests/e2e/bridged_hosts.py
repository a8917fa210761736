"""Several hosts, which are network namespaces on one bridge. Skips where they cannot be made: they need root."""

import contextlib

from cluster import *

sys.path.insert(0, str(SOURCE / "tests/launch/bench"))
from hosts import NotHere, ip  # noqa: E402

UP_SECONDS = 10


class BridgedHosts:
    def __init__(self, count):
        # Names of interfaces have 15 characters at most; the pid tells runs apart.
        self.names = [f"tg{os.getpid()}-{number}" for number in range(count)]
        self.hub = f"tg{os.getpid()}-hub"
        self.network = f"10.{128 + os.getpid() // 256 % 64}.{os.getpid() % 256}"

    def make(self):
        ip("netns", "add", self.hub)
        ip("-n", self.hub, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.hub, "link", "set", "bridge", "up")
        for number, name in enumerate(self.names):
            ip("netns", "add", name)
            ip("link", "add", name, "netns", name, "type", "veth", "peer", "name", f"to-{number}", "netns", self.hub)
            ip("-n", self.hub, "link", "set", f"to-{number}", "master", "bridge", "up")
            ip("-n", name, "address", "add", f"{self.address(number)}/24", "dev", name)
            for device in ("lo", name):
                ip("-n", name, "link", "set", device, "up")
        wait_until(lambda: all(self.is_up(name) for name in self.names), UP_SECONDS, f"{self.names} are up")

    def is_up(self, name):
        """Programs that look for interfaces leave out one that has no carrier yet."""
        return " state UP " in ip("-n", name, "-o", "link", "show", "dev", name)

    def remove(self):
        """The interfaces go with their namespaces."""
        for name in [*self.names, self.hub]:
            with contextlib.suppress(NotHere, subprocess.TimeoutExpired, OSError):
                ip("netns", "delete", name)

    def address(self, number):
        return f"{self.network}.{number + 1}"

    def command(self, number, words=()):
        return ["ip", "netns", "exec", self.names[number], *words]

    def cut(self, number):
        """Nothing reaches the host, and nothing says so."""
        ip("-n", self.hub, "link", "set", f"to-{number}", "nomaster")

    def join(self, number):
        ip("-n", self.hub, "link", "set", f"to-{number}", "master", "bridge")


class BridgedHostsTest(ClusterTest):
    def bridged_hosts(self, count):
        hosts = BridgedHosts(count)
        self.addCleanup(hosts.remove)
        try:
            hosts.make()
        except (NotHere, OSError) as why:
            self.skipTest(str(why))
        return hosts
