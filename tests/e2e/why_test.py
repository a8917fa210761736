"""`tidegate why` and `status` name the worker that the others wait for, while the job runs and after it."""

import json

from cluster import *

PAUSE_US = 4000
SLOW = 1


class Why(ClusterTest):
    def yaml(self, clocks, slow, shards=2, **job):
        made = json.loads(cluster_yaml({"job": {"workers": 3, "mode": ["workload", clocks, PAUSE_US, "exchange"], **job}},
                                       shards=shards))
        made["faults"] = {"slow": {f"worker-job-{SLOW}": slow}}
        return json.dumps(made)

    def tidegate(self, *words):
        done = subprocess.run([BIN / "tidegate", *map(str, words)], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def worst(self, run, *words, because="computes"):
        found = json.loads(self.tidegate("why", run.run_dir, "--json", *words))
        self.assertEqual(found["workers"], 3)
        self.assertEqual(len(found["held_up_by"]), 1, found)
        worst = found["held_up_by"][0]
        self.assertEqual((worst["rank"], worst["because"]), (SLOW, because), worst)
        # Whatever else the machine does, what the others wait for is most of the longer pause.
        self.assertGreater(worst["comes_last"], 0.5, worst)
        self.assertGreater(worst["faster"], 1.5, worst)
        return worst

    def test_a_worker_that_computes_longer(self):
        for aggregators in ("none", "per_host"):
            with self.subTest(aggregators=aggregators):
                run = self.launch(self.yaml(150, {"factor": 10}, aggregators=aggregators))
                metrics = run.run_dir / "metrics.jsonl"
                wait_until(lambda: metrics.exists() and len(metrics.read_text().splitlines()) >= 2, 30, "two lines")
                self.worst(run)
                status = json.loads(self.tidegate("status", run.run_dir, "--json"))
                members = status["jobs"][0]["members"]
                self.assertEqual([member["rank"] for member in members], [0, 1, 2])
                self.assertEqual(max(members, key=lambda member: member["comes_last"])["rank"], SLOW, members)
                self.assertEqual(min(members, key=lambda member: member["waits"])["rank"], SLOW, members)
                self.assertEqual(run.wait(60), 0, run.account())
                self.worst(run)
                self.worst(run, "--last", 50)
                self.assertIn("worker 1 holds the job up by ", self.tidegate("why", run.run_dir))
                self.assertEqual(metrics.stat().st_mode & 0o777, 0o600)

    def test_a_worker_whose_link_is_slow(self):
        run = self.launch(self.yaml(60, {"link_delay": "30ms"}))
        self.assertEqual(run.wait(60), 0, run.account())
        self.worst(run, because="arrives")
        self.assertIn("worker-job-1 is slow: what it sends comes 30ms later", run.events_text())

    def test_a_worker_that_is_slow_for_some_clocks(self):
        run = self.launch(self.yaml(1300, {"factor": 10, "from": 100, "until": 300}))
        self.assertEqual(run.wait(90), 0, run.account())
        # Lines are of a second, some 60 clocks, and shards tell within another: of what begins at clock 100 all lines tell from
        # clock 200 on, and what ends at clock 300 is told by clock 700.
        self.assertEqual(self.worst(run, "--clock", 220)["rank"], SLOW)
        last = json.loads(self.tidegate("why", run.run_dir, "--json", "--last", 600))
        self.assertNotIn(SLOW, [worker["rank"] for worker in last["held_up_by"]], last)

    def test_a_run_that_has_said_nothing(self):
        run = self.run_to_end(cluster_yaml({"job": {"workers": 1, "mode": ["workload", 1, 0, "exchange"]}}))
        done = subprocess.run([BIN / "tidegate", "why", run.run_dir], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("has no metrics.jsonl, or nothing is in it", done.stderr)


if __name__ == "__main__":
    main()
