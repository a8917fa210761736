"""`tidegate why` names the worker or the shard that real processes wait for, and why: it is slow on purpose, stopped by a
signal, or its link is shaped; and nobody where nothing is. TIDEGATE_CAUSE_ROUNDS runs each so often, with drawn numbers."""

import json
import os
import random
import signal
import time

from cluster import *
from two_hosts import TwoHostsTest, hosts

ROUNDS = int(os.environ.get("TIDEGATE_CAUSE_ROUNDS", "1"))
WORKERS = 3
PAUSE_US = 30000


class Causes(TwoHostsTest):
    def yaml(self, clocks=120, slow=None, **cluster):
        made = json.loads(cluster_yaml({"job": {"workers": WORKERS, "mode": ["workload", clocks, PAUSE_US, "exchange"],
                                                **cluster.pop("job", {})}}, shards=2, **cluster))
        if slow:
            made["faults"] = {"slow": slow}
        return json.dumps(made)

    def tidegate(self, *words):
        done = subprocess.run([BIN / "tidegate", *map(str, words)], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def named(self, run):
        """[(kind, number, cause)] of the whole run, the worst first."""
        found = json.loads(self.tidegate("why", run.run_dir, "--json"))["held_up_by"]
        return [("worker", each["rank"], each["because"]) if "rank" in each else ("shard", each["shard"], each["because"])
                for each in found]

    def expect(self, run, *wanted):
        self.assertEqual(run.wait(90), 0, run.account())
        # Whatever else the machine does may keep a process from a processor, and that is said, too.
        named = [each for each in self.named(run) if each[2] != "starved"]
        self.assertEqual(named, list(wanted), self.tidegate("why", run.run_dir))

    def rounds(self):
        for number in range(ROUNDS):
            with self.subTest(round=number):
                yield random.Random(number)

    def stop(self, run, name, seconds):
        """Stops a process once the run is well under way."""
        metrics = run.run_dir / "metrics.jsonl"
        wait_until(lambda: metrics.exists() and len(metrics.read_text().splitlines()) >= 2, 30, "two lines of metrics")
        processes = json.loads(self.tidegate("status", run.run_dir, "--json"))["processes"]
        pid = next(process["pid"] for process in processes if process["name"] == name)
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_a_worker_that_computes_longer(self):
        for draws in self.rounds():
            rank = draws.randrange(WORKERS)
            run = self.launch(self.yaml(slow={f"worker-job-{rank}": {"factor": draws.uniform(3, 6)}}))
            self.expect(run, ("worker", rank, "computes"))

    def test_a_worker_whose_frames_are_late(self):
        for draws in self.rounds():
            rank = draws.randrange(WORKERS)
            run = self.launch(self.yaml(slow={f"worker-job-{rank}": {"link_delay": f"{draws.randrange(40, 90)}ms"}}))
            self.expect(run, ("worker", rank, "arrives"))

    def test_a_shard_whose_frames_are_late(self):
        for draws in self.rounds():
            shard = draws.randrange(2)
            run = self.launch(self.yaml(slow={f"shard-{shard}": {"link_delay": f"{draws.randrange(40, 90)}ms"}}))
            self.expect(run, ("shard", shard, "arrives"))

    def test_a_worker_that_is_stopped(self):
        for draws in self.rounds():
            rank = draws.randrange(WORKERS)
            run = self.launch(self.yaml(clocks=200))
            self.stop(run, f"worker-job-{rank}", draws.uniform(1, 1.5))
            self.expect(run, ("worker", rank, "stopped"))

    def test_a_shard_that_is_stopped(self):
        for draws in self.rounds():
            shard = draws.randrange(2)
            run = self.launch(self.yaml(clocks=200))
            self.stop(run, f"shard-{shard}", draws.uniform(1, 1.5))
            self.expect(run, ("shard", shard, "stopped"))

    def test_a_shard_whose_replica_is_late(self):
        for draws in self.rounds():
            shard = draws.randrange(2)
            run = self.launch(self.yaml(slow={f"replica-{shard}": {"link_delay": f"{draws.randrange(60, 90)}ms"}}, replicas=1))
            self.expect(run, ("shard", shard, "replica"))

    def test_a_shard_whose_replica_is_stopped(self):
        for draws in self.rounds():
            for shard in range(2):  # one of them always answers after the other
                run = self.launch(self.yaml(clocks=200, replicas=1))
                self.stop(run, f"replica-{shard}", draws.uniform(1.2, 1.6))
                self.expect(run, ("shard", shard, "replica"))

    def test_a_shard_whose_disk_is_slow(self):
        for draws in self.rounds():
            shard = draws.randrange(2)
            # Far longer than ten clocks take on any machine.
            run = self.launch(self.yaml(slow={f"shard-{shard}": {"disk_delay": f"{draws.randrange(3000, 4000)}ms"}},
                                        job={"checkpoint": {"every": "10 clocks"}}))
            self.expect(run)
            found = json.loads(self.tidegate("why", run.run_dir, "--json")).get("late_checkpoint")
            self.assertIsNotNone(found, self.tidegate("why", run.run_dir))
            self.assertEqual((found["writer"], found["shard"]), ("shard", shard), found)

    def test_a_worker_behind_a_narrow_link(self):
        for draws in self.rounds():
            link = self.two_hosts()
            named = {"a": {"address": link.address(0), "prefix": link.command(0, [])},
                     "b": {"address": link.address(1), "prefix": link.command(1, [])}}
            rate = f"{draws.randrange(20, 40)}mbit"
            hosts.ip("netns", "exec", link.names[1], "tc", "qdisc", "add", "dev", link.names[1], "root", "tbf", "rate", rate,
                     "burst", "64kb", "latency", "400ms")
            run = self.launch(self.yaml(clocks=60, hosts=named, shard_hosts=["a"], job={"hosts": ["a", "b"]}),
                              runner=link.command(0, []))
            self.expect(run, ("worker", 2, "arrives"))
            link.remove()

    def test_nobody(self):
        for _ in self.rounds():
            run = self.launch(self.yaml(job={"checkpoint": {"every": "10 clocks"}}))
            self.expect(run)
            self.assertNotIn("late_checkpoint", json.loads(self.tidegate("why", run.run_dir, "--json")))


if __name__ == "__main__":
    main()
