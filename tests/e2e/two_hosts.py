"""Two hosts, which are network namespaces. Skips where they cannot be made: they need root."""

from cluster import *

sys.path.insert(0, str(SOURCE / "tests/launch/bench"))
import hosts  # noqa: E402


class TwoHostsTest(ClusterTest):
    def two_hosts(self):
        try:
            link = hosts.TwoHosts()
            link.__enter__()
        except (hosts.NotHere, OSError) as why:
            self.skipTest(str(why))
        self.addCleanup(link.remove)
        return link

    def received(self, link):
        """Bytes that came in over the wire, at both ends."""
        return sum(int(hosts.ip("netns", "exec", name, "cat", f"/sys/class/net/{name}/statistics/rx_bytes"))
                   for name in link.names)
