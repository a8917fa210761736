"""TCP connections between processes that live are cut: they are made again, nobody dies of it, and the bits are those of a
run in which nothing happened."""

import sys

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "e2e"))

from faults import *


class Cut(FaultTest):
    def yaml(self, mode, replicas=0, max_shards=0, transport="tcp", **job):
        made = {"workers": 3, "optimizer": {"name": "adam", "learning_rate": 0.05}, "mode": mode, **job}
        moves = {"max_shards": max_shards} if max_shards else {}
        return cluster_yaml({"job": made}, shards=2, replicas=replicas, transport=transport, **moves)

    def clock(self, run):
        """The last clock that the live line has told."""
        clocks = re.findall(r"clock (\d+)", run.output)
        return int(clocks[-1]) if clocks else 0

    def goes_on(self, run):
        before = self.clock(run)
        wait_until(lambda: self.clock(run) > before or run.process.poll() is not None, 20,
                   f"progress after clock {before}; {run.output[-500:]}")

    def cut(self, run, process, other):
        done = subprocess.run([BIN / "tidegate", "chaos", run.run_dir, "cut", process, other], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.goes_on(run)

    def check(self, pairs, replicas=0, then_kill=None, **job):
        expected = self.hash_of(self.run_to_end(self.yaml(["workload", 400, 0, "exchange"], replicas, **job)))
        run = self.launch(self.yaml(["workload", 400, 15000, "exchange"], replicas, **job), terminal=True)
        wait_until(lambda: self.clock(run) > 2, 30, f"a clock above 2; {run.output}")
        for process, other in pairs:
            self.cut(run, process, other)
        self.assertEqual(self.count_events(run, "process_restarted"), 0, run.events_text())
        if then_kill:
            self.kill(run, then_kill)
            self.goes_on(run)
        self.assertEqual(run.wait(120), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertEqual(self.count_events(run, "cut"), 0)
        self.assertEqual(self.count_events(run, "fault"), len(pairs))
        self.assert_nothing_left(run)

    def test_worker_and_shard(self):
        for transport in ("tcp", "ucx"):
            with self.subTest(transport=transport):
                self.check([("worker-job-0", "shard-0"), ("shard-1", "worker-job-2"), ("worker-job-0", "shard-0")],
                           transport=transport)

    def test_primary_and_replica_and_their_workers(self):
        self.check([("shard-0", "replica-0"), ("worker-job-1", "shard-1"), ("replica-1", "shard-1"),
                    ("worker-job-1", "replica-0")], replicas=1, then_kill="shard-0")

    def test_coordinator_and_members(self):
        self.check([("coordinator-0", "shard-0"), ("replica-0", "coordinator-0"), ("worker-job-0", "coordinator-0")],
                   replicas=1, then_kill="shard-0")

    def test_coordinator_and_processes_of_several_shards(self):
        for replicas in (0, 1):
            with self.subTest(replicas=replicas):
                ends = ["shard-0", "shard-1", "shard-0"] if replicas == 0 else ["replica-0", "shard-1", "shard-0"]
                self.check([("coordinator-0", end) for end in ends], replicas=replicas, max_shards=4,
                           then_kill="shard-0" if replicas else None)

    def test_aggregator(self):
        self.check([("aggregator-job-0", "shard-0"), ("worker-job-1", "aggregator-job-0")], aggregators="per_host")


main()
