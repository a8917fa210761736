"""Checkpoints in a folder that a job names (jobs.*.checkpoint.path) outlive the run folder: another launcher goes on from them,
one at a time, and only where it was asked to."""

import json
import re
import shutil
import tempfile

from lost_launchers import *

CLOCKS = 300
PAUSE_US = 8000


class CheckpointPath(LostLauncherTest):
    def setUp(self):
        self.shared = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-shared-"))
        self.addCleanup(shutil.rmtree, self.shared, True)

    def job(self, clocks=CLOCKS, pause_us=PAUSE_US, path=None, **rest):
        return {"workers": 2, "mode": ["workload", clocks, pause_us, "exchange"],
                "checkpoint": {"every": "20 clocks", "keep": 2, "path": str(path or self.shared)}, **rest}

    def calm_hash(self, clocks=CLOCKS):
        job = self.job(clocks, 0)
        del job["checkpoint"]
        return self.hash_of(self.run_to_end(cluster_yaml({"job": job})))

    def hash_of(self, run, index=0):
        return run.result()["jobs"][index]["parameters_sha256"]

    def manifests(self, job="job"):
        return sorted(path.name for path in (self.shared / job).glob("*.manifest"))

    def record(self, job="job"):
        return sorted(path.name for path in (self.shared / job / "run").iterdir())

    def refused(self, yaml, *arguments):
        """What is said about it; nothing was started, and no run folder was made."""
        before = self.record() if (self.shared / "job/run").exists() else None
        run = self.run_to_end(yaml, *arguments, expect=2)
        self.assertFalse(run.run_dir.exists(), run.output)
        if before is not None:
            self.assertEqual(self.record(), before)
        return run.output

    def epochs_of(self, names):
        return {int(re.match(r"e(\d+)-", name)[1]) for name in names}

    def test_a_run_whose_launcher_and_run_folder_are_gone_goes_on_elsewhere(self):
        expected = self.calm_hash()
        first = self.launch(cluster_yaml({"job": self.job()}))
        self.training(first)
        self.assertTrue((first.run_dir / "checkpoints/job").is_symlink())
        self.assertEqual(sorted(path.name for path in (first.run_dir / "checkpoints").iterdir()), ["job"])
        self.lose(first)
        self.assertEqual(self.epochs_of(self.manifests()), {1})
        # With no other file than what lies beside the checkpoints.
        kept = self.shared / "job/run/cluster.yaml"
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        self.assertEqual((self.shared / "job/run").stat().st_mode & 0o777, 0o700)
        second = self.launch(kept, "--continue")
        self.training(second, 1)
        self.assertIn("job job goes on from checkpoint e0001-", second.output)
        self.lose(second)
        third = self.launch(kept, "--continue")
        self.assertEqual(third.wait(60), 0, third.output)
        self.assertIn("job job goes on from checkpoint e0002-", third.output)
        self.assertEqual(self.hash_of(third), expected)
        self.assertEqual(self.epochs_of(self.manifests()), {3})
        for run in (second, third):
            begin = int(re.search(r"goes on from checkpoint \S+, clock (\d+)", run.output)[1])
            self.assertGreaterEqual(begin, 20)
            self.assertLessEqual(run.clock(), CLOCKS - begin, "nothing is done again from the beginning")

    def test_a_run_that_still_has_its_folder_is_resumed_as_ever(self):
        expected = self.calm_hash()
        run = self.launch(cluster_yaml({"job": self.job()}))
        self.training(run)
        run.process.kill()
        run.process.wait()
        run.resume()
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertIn("goes on (epoch 2)", run.output)
        self.assertRegex(run.output, r"goes on from checkpoint e0001-\d+, clock [1-9]")
        self.assertEqual(self.hash_of(run), expected)
        listed = subprocess.run([BIN / "tidegate", "export", run.run_dir, "--list"], capture_output=True, text=True, timeout=30)
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertEqual(listed.stdout.count("whole"), 2, listed.stdout)

    def test_all_go_back_when_a_shard_dies(self):
        expected = self.calm_hash()
        run = self.launch(cluster_yaml({"job": self.job()}))
        self.training(run)
        os.kill(next(p["pid"] for p in run.processes() if p["role"] == "shard"), signal.SIGKILL)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertIn("go back to their last checkpoints (epoch 2)", run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertIn("epoch-0002", self.record())

    def test_a_second_launcher_is_refused_while_the_first_lives(self):
        job = self.job(mode=["forever"])
        run = self.launch(cluster_yaml({"job": job}))
        self.training(run)
        for arguments in ((), ("--continue",)):
            with self.subTest(arguments=arguments):
                said = self.refused(cluster_yaml({"job": job}), *arguments)
                self.assertIn(f"jobs.job.checkpoint.path: {self.shared}/job: a launcher that lives writes checkpoints there "
                              f"(cluster e2e, run folder {run.run_dir} on ", said)
        self.assertIsNone(run.process.poll())
        self.training(run, run.events_text().count('"checkpoint"') + 1)

    def test_checkpoints_of_another_run_are_not_taken_unasked(self):
        self.run_to_end(cluster_yaml({"job": self.job(40, 0)}))
        before = self.manifests()
        self.assertTrue(before)
        said = self.refused(cluster_yaml({"job": self.job(40, 0)}))
        self.assertIn(f"{self.shared}/job belongs to another run (cluster e2e, run folder ", said)
        self.assertIn("--continue", said)
        self.assertEqual(self.manifests(), before)
        with self.subTest("nor are those without a record"):
            shutil.rmtree(self.shared / "job/run")
            self.assertIn("belongs to another run", self.refused(cluster_yaml({"job": self.job(40, 0)})))
        with self.subTest("and another job of the same folder is none of theirs"):
            self.run_to_end(cluster_yaml({"beside": self.job(40, 0)}))
            self.assertEqual(self.manifests(), before)

    def test_a_run_that_went_on_elsewhere_is_not_resumed(self):
        first = self.launch(cluster_yaml({"job": self.job()}))
        self.training(first)
        first.process.kill()
        first.process.wait()
        self.assert_all_gone(first.processes(), 10)
        second = self.launch(cluster_yaml({"job": self.job()}), "--continue")
        self.assertEqual(second.wait(60), 0, second.output)
        done = subprocess.run([BIN / "tidegate", "launch", "--resume", first.run_dir], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("another run has gone on from the checkpoints there", done.stderr)
        self.assertIn(str(second.run_dir), done.stderr)

    def test_a_launcher_that_has_lost_the_folder_writes_no_checkpoint(self):
        """As when its lock was lost with a connection: another one's epoch is on record."""
        run = self.launch(cluster_yaml({"job": self.job(100000)}))
        self.training(run)
        (self.shared / "job/run/epoch-0007").write_text("tidegate\n")
        given_up = lambda: "another launcher has gone on with the checkpoints there, in epoch 7" in run.events_text()  # noqa: E731
        wait_until(given_up, 20, lambda: "what it says of it; " + run.account())
        before = self.manifests()
        clock = run.clock()
        wait_until(lambda: run.clock() > clock + 50, 20, "clocks without a checkpoint")
        self.assertEqual(self.manifests(), before)

    def test_what_is_not_for_checkpoints_is_told_before_anything_starts(self):
        file = self.shared / "file"
        file.write_text("")
        for path, says in ((self.shared / "none", "is not there: make it, or mount it, on all hosts of the cluster"),
                           (file, "is no folder"), (pathlib.Path("/sys"), "cannot be made")):
            with self.subTest(path=path):
                run = self.run_to_end(cluster_yaml({"job": self.job(path=path)}), expect=1 if str(path) == "/sys" else 2)
                self.assertIn(f"jobs.job.checkpoint.path: {path}", run.output)
                self.assertIn(says, run.output)
                self.assertFalse(run.run_dir.exists())
        relative = self.run_to_end(cluster_yaml({"job": self.job(path="checkpoints")}), expect=2)
        self.assertIn("jobs.job.checkpoint.path: 'checkpoints' is not allowed; allowed: an absolute path", relative.output)

    def test_only_folders_can_be_continued_from(self):
        job = self.job(40, 0)
        del job["checkpoint"]
        self.assertIn("--continue: no job names a folder for its checkpoints", self.refused(cluster_yaml({"job": job}), "--continue"))
        with self.subTest("and where nothing is yet, all begin"):
            run = self.run_to_end(cluster_yaml({"job": self.job(40, 0)}), "--continue")
            self.assertIn("job job begins anew: it has no whole checkpoint yet", run.output)
        with self.subTest("a job that has changed is refused"):
            said = self.refused(cluster_yaml({"job": {**self.job(40, 0), "workers": 3}}), "--continue")
            self.assertIn("has room for 2 workers, and the job for 3", said)

    def test_sums_of_other_workers_are_not_gone_on_with(self):
        """Under ssp a checkpoint has sums of aggregators beyond its clock."""
        job = self.job(40, 0, workers=4, consistency={"policy": "ssp", "staleness": 2}, aggregators={"fan_in": 2})
        self.run_to_end(cluster_yaml({"job": job}))
        said = self.refused(cluster_yaml({"job": {**job, "aggregators": "none"}}), "--continue")
        self.assertIn("job job: its aggregators sum other workers than those of the run that wrote the checkpoints", said)
        self.run_to_end(cluster_yaml({"job": job}, shards=3), "--continue")

    def test_a_job_that_was_cancelled_stays_so_elsewhere(self):
        jobs = {"job": self.job(), "other": self.job(mode=["forever"])}
        first = self.launch(cluster_yaml(jobs))
        self.training(first, 4)
        done = subprocess.run([BIN / "tidegate", "cancel", first.run_dir, "other"], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.lose(first)
        second = self.launch(cluster_yaml(jobs), "--continue")
        self.assertEqual(second.wait(60), 1, second.output)
        self.assertIn("job other stays cancelled", second.output)
        states = {job["name"]: job["state"] for job in second.result()["jobs"]}
        self.assertEqual(states, {"job": "done", "other": "cancelled"})


if __name__ == "__main__":
    main()
