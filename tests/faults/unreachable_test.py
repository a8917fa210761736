"""Two processes that live, both reach the coordinator, and cannot reach each other: one of them is ended after
`supervision.unreachable`, and the bits are those of a run in which nothing happened."""

import sys

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "e2e"))

import sockets
from faults import *
from two_hosts import TwoHostsTest, hosts


class Unreachable(FaultTest, TwoHostsTest):
    def yaml(self, link, mode):
        named = {"a": {"address": link.address(0), "prefix": link.command(0, [])},
                 "b": {"address": link.address(1), "prefix": link.command(1, [])}}
        job = {"workers": 2, "optimizer": {"name": "adam", "learning_rate": 0.05}, "mode": mode}
        made = json.loads(cluster_yaml({"job": job}, hosts=named, shards=1))
        made["supervision"] = {"unreachable": "4s"}
        return json.dumps(made)

    def rules(self, link, word, ports):
        """What host b sends to the first ports, or from the second, is dropped from now on, or no longer."""
        there, here = ports
        for match in [("dport", port) for port in there] + [("sport", port) for port in here]:
            hosts.ip("-n", link.names[1], "rule", word, "pref", "10", "ipproto", "tcp", match[0], str(match[1]), "blackhole")

    def run_between_rules(self, cuts):
        link = self.two_hosts()
        runner = link.command(0, [])
        expected = self.hash_of(self.run_to_end(self.yaml(link, ["workload", 400, 0, "exchange"]), runner=runner))
        run = self.launch(self.yaml(link, ["workload", 400, 15000, "exchange"]), runner=runner)
        self.wait_for_a_clock(run)
        pids = {(process["role"], process["index"]): process["pid"] for process in run.processes()}
        ports = [[port for _, port in sockets.listening(pids[name])] for name in (("shard", 0), ("worker", 1))]
        self.assertTrue(all(ports), ports)
        self.rules(link, "add", ports)
        if cuts:
            cut = subprocess.run([BIN / "tidegate", "chaos", run.run_dir, "cut", "worker-job-1", "shard-0"],
                                 capture_output=True, text=True, timeout=60)
            self.assertEqual(cut.returncode, 0, cut.stderr)
        wait_until(lambda: self.count_events(run, "process_condemned") or run.process.poll() is not None, 40,
                   "somebody is condemned")
        self.rules(link, "del", ports)
        self.assertEqual(run.wait(90), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertEqual(self.count_events(run, "process_condemned"), 1, run.events_text())
        self.assertEqual(self.count_events(run, "process_restarted"), 1, run.events_text())
        self.assertIn("worker-job-1: it and shard-0 had not reached each other", run.events_text())
        self.assertIn("worker-job-1 has waited", run.events_text())
        self.assert_nothing_left(run)

    def test_after_a_cut_the_worker_is_ended_and_comes_back(self):
        self.run_between_rules(cuts=True)

    def test_bytes_that_are_lost_in_silence_are_noticed(self):
        """No connection breaks by itself: TCP alone would send again for minutes."""
        self.run_between_rules(cuts=False)


main()
