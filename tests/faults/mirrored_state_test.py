"""What a worker keeps, when its host is lost: on another host it has the state of its clock, if that was copied to the
launcher (jobs.*.state.mirror_every); else it hears which clock it has. Skipped where namespaces cannot be made."""

import sys

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "e2e"))

from faults import *
from bridged_hosts import BridgedHostsTest

UNREACHABLE = 10  # seconds: a launcher that waits for a disk says nothing to its agents meanwhile
WORKERS = 6


class MirroredState(FaultTest, BridgedHostsTest):
    def yaml(self, hosts, clocks, size, pause_us, state, **cluster):
        named = {name: {"address": hosts.address(number), **({"prefix": hosts.command(number)} if number else {})}
                 for number, name in zip(range(len(hosts.names)), "abcdef")}
        job = {"workers": WORKERS, "reduce": "sum", "state": state,
               "mode": ["state", clocks, size, 0, pause_us, "exchange"]}
        spec = json.loads(cluster_yaml({"job": job}, hosts=named, shards=2, replicas=1, **cluster))
        spec["supervision"] = {"unreachable": f"{UNREACHABLE}s", "worker": {"max_restarts": 100},
                               "shard": {"max_restarts": 100}}
        return json.dumps(spec)

    def begin(self, hosts, *rest, **options):
        run = self.launch(self.yaml(hosts, *rest, **options), runner=hosts.command(0))
        wait_until(lambda: self.count_events(run, "replica_in_sync") >= 2, 30, f"in sync; {run.output}")
        # Before its first clock a worker keeps nothing that could be lost.
        wait_until(lambda: re.search(r"clock [1-9]", run.output), 30, f"a clock; {run.output}")
        return run

    def details(self, run, subject):
        return [json.loads(line)["detail"] for line in run.events_text().splitlines()
                if json.loads(line)["kind"] == subject]

    def kill_agent(self, run, host):
        mark = json.loads((run.run_dir / f"agents/{host}.json").read_text())
        self.assertEqual(started(mark["pid"]), mark["started"], f"the agent of {host} lives")
        os.kill(mark["pid"], signal.SIGKILL)

    def logs(self, run):
        return "".join(path.read_text() for path in sorted(run.run_dir.glob("logs/worker-job-*.log")))

    def assert_each_push_once(self, run, clocks, seconds=150):
        self.assertEqual(run.wait(seconds), 0, run.account())
        self.assertEqual(run.result()["jobs"][0]["metrics"]["pushes"], clocks * WORKERS)
        self.assert_nothing_left(run)

    def test_every_version_is_there_on_another_host(self):
        hosts = self.bridged_hosts(3)
        clocks = 600
        run = self.begin(hosts, clocks, 100_000, 10_000, {"mirror_every": 1})
        for number, host in enumerate("bcb"):
            self.kill_agent(run, host)
            wait_until(lambda: len(self.details(run, "host_back")) > number, 30, f"{host} is back; {run.output}")
            wait_until(lambda: self.count_events(run, "replica_in_sync") >= 3 + number, 30, f"in sync; {run.output}")
        self.assert_each_push_once(run, clocks)
        self.assertEqual(len(self.details(run, "host_lost")), 3, run.events_text())
        # Two workers of each host that was lost, each to another one and home again.
        moved = self.details(run, "state_moved")
        self.assertGreaterEqual(len(moved), 6, moved)
        self.assertRegex(moved[0], r"^worker-job-[23] to host [abc], with what it kept at clock \d+$")
        self.assertNotIn("state is lost", self.logs(run))

    def test_a_host_that_is_cut_off(self):
        """Its workers live on for a while, and nothing that they keep or push counts any more."""
        hosts = self.bridged_hosts(3)
        clocks = 600
        run = self.begin(hosts, clocks, 20_000, 10_000, {"mirror_every": 1})
        hosts.cut(2)
        wait_until(lambda: len(self.details(run, "host_lost")) == 1, 20, f"c is lost; {run.output}")
        hosts.join(2)
        self.assert_each_push_once(run, clocks)
        self.assertNotIn("state is lost", self.logs(run))

    def test_of_some_versions_what_was_not_copied_is_told(self):
        hosts = self.bridged_hosts(3)
        clocks, every = 600, 50
        run = self.begin(hosts, clocks, 20_000, 10_000, {"mirror_every": every})
        wait_until(lambda: "clock" in run.output, 30, f"a live line; {run.output}")
        self.kill_agent(run, "b")
        self.assert_each_push_once(run, clocks)
        lost = re.findall(r"state is lost at clock (\d+)\nthat of clock (\d+) is there", self.logs(run))
        self.assertEqual(len(lost), self.logs(run).count("state is lost"), self.logs(run))
        for now, older in lost:
            self.assertLess(int(now) - int(older), every, lost)
        # Of two workers one may have been at a clock whose version was copied.
        self.assertGreaterEqual(len(lost), 1, self.logs(run))

    def test_without_copies_it_is_told_that_all_is_lost(self):
        hosts = self.bridged_hosts(3)
        clocks = 400
        run = self.begin(hosts, clocks, 20_000, 10_000, {})
        self.kill_agent(run, "b")
        self.assert_each_push_once(run, clocks)
        self.assertEqual(self.logs(run).count("state is lost at clock "), 2, self.logs(run))
        self.assertNotIn("is there", self.logs(run))


main()
