"""`tidegate why` and `status` name the worker that the others wait for, while the job runs and after it."""

import json

from cluster import *

PAUSE_US, SLOW_US = 4000, 40000
SLOW = 1


class Why(ClusterTest):
    def yaml(self, clocks, **job):
        made = json.loads(cluster_yaml({"job": {"workers": 3, "mode": ["workload", clocks, 0, "exchange"], **job}}, shards=2))
        worker, *words = made["jobs"]["job"]["command"]
        pauses = f"if [ $TIDEGATE_RANK = {SLOW} ]; then pause={SLOW_US}; else pause={PAUSE_US}; fi"
        made["jobs"]["job"]["command"] = ["sh", "-c", f'{pauses}; exec {worker} workload {clocks} $pause exchange']
        return json.dumps(made)

    def tidegate(self, *words):
        done = subprocess.run([BIN / "tidegate", *map(str, words)], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def worst(self, run, *words):
        found = json.loads(self.tidegate("why", run.run_dir, "--json", *words))
        self.assertEqual(found["workers"], 3)
        self.assertEqual(len(found["held_up_by"]), 1, found)
        worst = found["held_up_by"][0]
        self.assertEqual((worst["rank"], worst["because"]), (SLOW, "computes"), worst)
        # Whatever else the machine does, what the others wait for is most of the longer pause.
        self.assertGreater(worst["comes_last"], 0.5, worst)
        self.assertGreater(worst["faster"], 1.5, worst)
        return worst

    def test_a_worker_that_computes_longer(self):
        for aggregators in ("none", "per_host"):
            with self.subTest(aggregators=aggregators):
                run = self.launch(self.yaml(150, aggregators=aggregators))
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
                self.assertIn("worker 1 came last", self.tidegate("why", run.run_dir))
                self.assertEqual(metrics.stat().st_mode & 0o777, 0o600)

    def test_a_run_that_has_said_nothing(self):
        run = self.run_to_end(cluster_yaml({"job": {"workers": 1, "mode": ["workload", 1, 0, "exchange"]}}))
        done = subprocess.run([BIN / "tidegate", "why", run.run_dir], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("has no metrics.jsonl, or nothing is in it", done.stderr)


if __name__ == "__main__":
    main()
