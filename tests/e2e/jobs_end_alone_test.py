"""A job that fails or is cancelled ends by itself and frees its memory; the other jobs of the cluster go on."""

import json

from cluster import *

KEEPS = {"workers": 2, "mode": ["workload", 150, 10000]}
MANY_BYTES = 16 << 20
HEAVY = {"workers": 2, "mode": ["many", 1, MANY_BYTES // 4, 1000000], "reduce": "sum"}
MIB = 1 << 20


def resident(pid):
    """Bytes of a process's memory, what it shares included."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


class JobsEndAlone(ClusterTest):
    @classmethod
    def setUpClass(cls):
        alone = Launch(cluster_yaml({"keeps": {**KEEPS, "mode": ["workload", 150]}}))
        try:
            assert alone.wait(60) == 0, alone.account()
            cls.expected = alone.result()["jobs"][0]["parameters_sha256"]
        finally:
            alone.close()

    def jobs(self, run):
        return {job["name"]: job for job in run.result()["jobs"]}

    def assert_keeps_is_done(self, run):
        job = self.jobs(run)["keeps"]
        self.assertEqual((job["state"], job["parameters_sha256"]), ("done", self.expected))

    def cancel(self, run, *words):
        return subprocess.run([BIN / "tidegate", "cancel", str(run.run_dir), *words], capture_output=True, text=True, timeout=30)

    def pids(self, run, role, job=""):
        return [p["pid"] for p in run.processes() if p["role"] == role and p.get("job", "") == job]

    def test_a_job_that_is_cancelled_frees_its_memory_and_another_goes_on(self):
        run = self.launch(cluster_yaml({"keeps": {**KEEPS, "mode": ["workload", 150, 40000]}, "heavy": HEAVY}))
        run.wait_for_training(7)
        shards = self.pids(run, "shard")
        before = sum(map(resident, shards))
        self.assertGreater(before, MANY_BYTES)
        workers = self.pids(run, "worker", "heavy")
        self.assertEqual(len(workers), 2)
        done = self.cancel(run, "heavy")
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until(lambda: not any(map(alive, workers)), 5, "the end of its workers")
        wait_until(lambda: sum(map(resident, shards)) < before - MANY_BYTES, 5,
                   lambda: f"memory of its tables is free: {before // MIB} MiB, now {sum(map(resident, shards)) // MIB}")
        again = self.cancel(run, "heavy")
        self.assertEqual((again.returncode, again.stderr), (1, "tidegate cancel: job heavy has ended\n"))
        self.assertEqual(run.wait(60), 1, run.output)
        self.assert_keeps_is_done(run)
        self.assertNotIn("worker-keeps", " ".join(event for event in run.events_text().splitlines() if "process_restarted" in event))
        self.assertEqual(self.jobs(run)["heavy"]["state"], "cancelled")
        self.assertIn("job heavy was cancelled by tidegate cancel; other jobs go on", run.output)

    def status(self, run, *words):
        return subprocess.run([BIN / "tidegate", "status", str(run.run_dir), *words], capture_output=True, text=True, timeout=30)

    def test_status_says_how_jobs_go_on_and_have_ended(self):
        run = self.launch(cluster_yaml({"keeps": KEEPS, "forever": {"workers": 1, "mode": ["forever"]}}))
        run.wait_for_training(6)
        wait_until(lambda: json.loads(self.status(run, "--json").stdout)["jobs"][0]["state"] == "done", 60, run.account)
        wait_until(lambda: not self.pids(run, "worker", "keeps"), 60, "its workers have left")
        told = json.loads(self.status(run, "--json").stdout)
        self.assertEqual((told["state"], told["jobs"][1]["state"]), ("running", "running"))
        self.assertEqual(told["jobs"][0]["parameters_sha256"], self.expected)
        self.assertEqual({p["pid"] for p in told["processes"]}, {p["pid"] for p in run.processes()})
        text = self.status(run).stdout
        self.assertIn("cluster e2e is running\n", text)
        self.assertRegex(text, r"\nforever +bsp +running ")
        self.assertRegex(text, r"\nworker-forever-0 +- +\d+ +1\n")
        self.cancel(run, "forever")
        self.assertEqual(run.wait(60), 1, run.output)
        self.assertIn("cluster e2e has ended, exit code 1\n", self.status(run).stdout)
        nowhere = subprocess.run([BIN / "tidegate", "status", str(run.run_dir / "logs")], capture_output=True, text=True, timeout=30)
        self.assertEqual(nowhere.returncode, 1)
        self.assertIn("no launcher lives in", nowhere.stderr)

    def test_a_job_whose_worker_fails_ends_alone(self):
        run = self.launch(cluster_yaml({"keeps": KEEPS, "odd": {"workers": 2, "mode": ["nan", 5]}}))
        self.assertEqual(run.wait(60), 1, run.output)
        self.assert_keeps_is_done(run)
        odd = self.jobs(run)["odd"]
        self.assertEqual(odd["state"], "failed")
        self.assertIn("has NaN", odd["failure"])

    def test_a_job_whose_worker_is_not_replaced_ends_alone(self):
        run = self.launch(cluster_yaml({"keeps": KEEPS, "dies": {"workers": 2, "mode": ["exit", 7], "on_worker_loss": "fail"}}))
        self.assertEqual(run.wait(60), 3, run.output)
        self.assert_keeps_is_done(run)
        dies = self.jobs(run)["dies"]
        self.assertEqual(dies["state"], "failed")
        self.assertIn("status 7", dies["failure"])

    def test_a_job_that_was_cancelled_stays_so_when_the_run_is_resumed(self):
        checkpoint = {"checkpoint": {"every": "20 clocks"}}
        run = self.launch(cluster_yaml({"keeps": {**KEEPS, **checkpoint}, "other": {"workers": 1, "mode": ["forever"], **checkpoint}}))
        run.wait_for_training(6)
        self.assertEqual(self.cancel(run, "other").returncode, 0)
        run.process.kill()  # it has answered: the job is on record
        run.process.wait()
        run.resume()
        self.assertEqual(run.wait(60), 1, run.output)
        self.assert_keeps_is_done(run)
        self.assertEqual(self.jobs(run)["other"]["state"], "cancelled")
        self.assertIn("job other stays cancelled", run.output)

    def test_the_only_job_is_cancelled_without_its_name(self):
        run = self.launch(cluster_yaml({"job": {"workers": 2, "mode": ["forever"]}}))
        run.wait_for_training(5)
        self.assertEqual(self.cancel(run).returncode, 0)
        self.assertEqual(run.wait(10), 1, run.output)
        self.assertEqual(self.jobs(run)["job"]["state"], "cancelled")

    def test_what_cannot_be_cancelled_is_told(self):
        run = self.launch(cluster_yaml({"a": {"workers": 1, "mode": ["forever"]}, "b": {"workers": 1, "mode": ["forever"]}}))
        run.wait_for_training(5)
        for words, told in (((), "there are several jobs: say which"), (("c",), "no job 'c' in this run")):
            done = self.cancel(run, *words)
            self.assertEqual((done.returncode, done.stderr), (1, f"tidegate cancel: {told}\n"))


if __name__ == "__main__":
    main()
