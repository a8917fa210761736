"""Hosts that are in two networks: connections go over both, and when one network goes away, over the other. Skipped where
namespaces cannot be made (they need root)."""

import sys

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "e2e"))

from faults import *
from two_hosts import TwoHostsTest, hosts


class Rails(FaultTest, TwoHostsTest):
    def two_rails(self):
        """Two hosts, with a second pair of interfaces."""
        link = self.two_hosts()
        self.second = [f"{name}r" for name in link.names]
        hosts.ip("link", "add", self.second[0], "netns", link.names[0], "type", "veth",
                 "peer", "name", self.second[1], "netns", link.names[1])
        for side, name in enumerate(link.names):
            hosts.ip("-n", name, "address", "add", f"fd55::{side + 1}/64", "dev", self.second[side], "nodad")
            hosts.ip("-n", name, "link", "set", self.second[side], "up")
        return link

    def yaml(self, link, mode):
        named = {name: {"address": [link.address(side), f"fd55::{side + 1}"], "prefix": link.command(side, [])}
                 for side, name in enumerate("ab")}
        job = {"workers": 6, "optimizer": {"name": "adam", "learning_rate": 0.05}, "mode": mode}
        made = json.loads(cluster_yaml({"job": job}, hosts=named, shards=6, chunk_bytes="16KiB"))
        made["supervision"] = {"unreachable": "6s"}
        return json.dumps(made)

    def bytes_of(self, link):
        """What has come in over each rail."""
        def received(name, interface):
            return int(hosts.ip("netns", "exec", name, "cat", f"/sys/class/net/{interface}/statistics/rx_bytes"))
        return [sum(received(name, interface) for name, interface in zip(link.names, rail))
                for rail in (link.names, self.second)]

    def test_connections_are_spread_over_both(self):
        link = self.two_rails()
        before = self.bytes_of(link)
        run = self.launch(self.yaml(link, ["workload", 200, 0, "exchange"]), runner=link.command(0, []))
        self.assertEqual(run.wait(60), 0, run.account())
        share = [after - first for first, after in zip(before, self.bytes_of(link))]
        self.assertGreater(min(share), 0.02 * sum(share), "one at least of 18 pairs, of which each takes either")
        self.assert_nothing_left(run)

    def test_a_network_that_goes_away(self):
        link = self.two_rails()
        runner = link.command(0, [])
        expected = self.hash_of(self.run_to_end(self.yaml(link, ["workload", 600, 0, "exchange"]), runner=runner))
        run = self.launch(self.yaml(link, ["workload", 600, 15000, "exchange"]), runner=runner)
        self.wait_for_a_clock(run)
        hosts.ip("-n", link.names[1], "link", "set", self.second[1], "down")
        before = self.bytes_of(link)
        self.assertEqual(run.wait(120), 0, run.account())
        first, second = (after - first for first, after in zip(before, self.bytes_of(link)))
        self.assertGreater(first, 1_000_000)
        self.assertLess(second, 1_000_000)
        self.assertEqual(self.hash_of(run), expected)
        self.assertEqual(self.count_events(run, "process_restarted"), 0, "nobody died of it")
        self.assert_nothing_left(run)

    def test_a_network_that_is_away_from_the_start_is_told_and_the_run_goes_on(self):
        link = self.two_rails()
        hosts.ip("-n", link.names[1], "link", "set", self.second[1], "down")
        before = self.bytes_of(link)
        run = self.launch(self.yaml(link, ["workload", 50, 0, "exchange"]), runner=link.command(0, []))
        self.assertEqual(run.wait(60), 0, run.account())
        first, second = (after - first for first, after in zip(before, self.bytes_of(link)))
        self.assertGreater(first, 1_000_000)
        self.assertLess(second, 100_000)
        logs = {name: (run.run_dir / f"logs/{name}.log").read_text() for name in ("agent-b", "shard-1")}
        self.assertIn("host a is not reached by fd55::1 at port", logs["agent-b"])
        self.assertIn("does without listening on fd55::2:", logs["shard-1"])
        self.assert_nothing_left(run)


main()
