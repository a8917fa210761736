"""Checkpoints in a store of objects (jobs.*.checkpoint.path: s3://BUCKET/PREFIX), played by moto's server, which checks
signatures: another launcher goes on from them, a store that is away costs checkpoints and no training, and what the store
refuses is told before anything starts. Skipped where there is no Python with moto (TIDEGATE_S3_PYTHON)."""

import json
import re
import shutil
import tempfile
import unittest

from lost_launchers import *

sys.path.insert(0, str(SOURCE / "tests/support"))
from s3_server import BUCKET, S3Server  # noqa: E402

PYTHON = os.environ.get("TIDEGATE_S3_PYTHON", "")
CLOCKS = 600
PAUSE_US = 8000


@unittest.skipUnless(PYTHON, "no Python with moto is named (TIDEGATE_S3_PYTHON)")
class CheckpointStore(LostLauncherTest):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-store-"))
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.store = S3Server(PYTHON, self.folder).start()
        self.addCleanup(self.store.end)

    def environment(self, **changes):
        return {**os.environ, **self.store.environment(), **changes}

    def job(self, clocks=CLOCKS, pause_us=PAUSE_US, path=f"s3://{BUCKET}/runs/a", **rest):
        return {"workers": 2, "mode": ["workload", clocks, pause_us, "exchange"],
                "checkpoint": {"every": "20 clocks", "keep": 2, "path": path}, **rest}

    def begin(self, yaml, *arguments, **options):
        options.setdefault("env", self.environment())
        return self.launch(yaml, *arguments, **options)

    def calm_hash(self, clocks=CLOCKS):
        job = self.job(clocks, 0)
        del job["checkpoint"]
        return self.hash_of(self.run_to_end(cluster_yaml({"job": job})))

    def hash_of(self, run):
        return run.result()["jobs"][0]["parameters_sha256"]

    def names(self, prefix="runs/a/job/"):
        return [key[len(prefix):] for key in self.store.keys_of(prefix)]

    def manifests(self):
        return [name for name in self.names() if name.endswith(".manifest")]

    def refused(self, yaml, *arguments, expect=2, **changes):
        before = self.names("runs/a/job/run/")
        run = self.begin(yaml, *arguments, env=self.environment(**changes))
        self.assertEqual(run.wait(60), expect, run.output)
        self.assertFalse(run.run_dir.exists(), run.output)
        if not changes:
            self.assertEqual(self.names("runs/a/job/run/"), before)
        return run.output

    def exported(self, *arguments):
        done = subprocess.run([BIN / "tidegate", "export", *arguments], capture_output=True, text=True, timeout=60,
                              env=self.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_run_whose_launcher_and_run_folder_are_gone_goes_on_elsewhere(self):
        expected = self.calm_hash()
        first = self.begin(cluster_yaml({"job": self.job()}))
        self.training(first)
        self.lose(first)
        self.assertTrue(all(name.startswith("e0001-") for name in self.manifests()), self.manifests())
        # With no other file than what lies beside the checkpoints.
        kept = self.folder / "cluster.yaml"
        kept.write_bytes(self.store.get("runs/a/job/run/cluster.yaml"))
        second = self.begin(kept, "--continue")
        self.training(second, 1)
        self.assertIn("job job goes on from checkpoint e0001-", second.output)
        self.lose(second)
        third = self.begin(kept, "--continue")
        self.assertEqual(third.wait(90), 0, third.output)
        self.assertIn("job job goes on from checkpoint e0002-", third.output)
        self.assertEqual(self.hash_of(third), expected)
        self.assertEqual({name[:5] for name in self.manifests()}, {"e0003"}, "those that are needless are gone")
        self.assertEqual(self.store.uploads(), [])
        listed = self.exported(f"s3://{BUCKET}/runs/a/job", "--list")
        self.assertEqual(listed.count("whole"), 2, listed)
        self.exported(f"s3://{BUCKET}/runs/a", "--job", "job", "-o", str(self.folder / "model.safetensors"))

    def test_secrets_are_with_those_who_need_them_and_in_no_file(self):
        run = self.begin(cluster_yaml({"job": self.job(100000)}))
        self.training(run)
        self.assertIn("whole", self.exported(run.run_dir, "--list"))
        keys = self.store.keys
        for process in run.processes():
            environment = pathlib.Path(f"/proc/{process['pid']}/environ").read_bytes().decode()
            arguments = pathlib.Path(f"/proc/{process['pid']}/cmdline").read_bytes().decode()
            needs = process["role"] in ("shard", "coordinator")
            self.assertEqual(keys["secret"] in environment, needs, process)
            self.assertEqual(keys["id"] in environment, needs, process)
            self.assertNotIn(keys["secret"], arguments)
        for path in run.run_dir.rglob("*"):
            if path.is_file():
                self.assertNotIn(keys["secret"].encode(), path.read_bytes(), path)
        for name in self.names("runs/a/job/run/"):
            self.assertNotIn(keys["secret"].encode(), self.store.get("runs/a/job/run/" + name), name)

    def test_a_host_gets_the_keys_from_the_launcher(self):
        """A host by a prefix, which the environment of the launcher does not come through."""
        gone = ["env"] + [word for name in self.store.environment() for word in ("-u", name)]
        hosts = {"a": {"address": "127.0.0.1"}, "b": {"address": "127.0.0.1", "prefix": gone}}
        run = self.begin(cluster_yaml({"job": self.job(100000)}, hosts=hosts))
        self.training(run)
        for process in run.processes():
            environment = pathlib.Path(f"/proc/{process['pid']}/environ").read_bytes().decode()
            needs = process["role"] in ("shard", "coordinator")
            self.assertEqual(self.store.keys["secret"] in environment, needs, process)
        run.process.terminate()
        run.wait(30)
        with self.subTest("and says that it does not reach the store"):
            hosts["b"]["prefix"] = ["env", "http_proxy=http://127.0.0.1:9", "no_proxy="]
            cut = self.begin(cluster_yaml({"job": self.job(100000)}, hosts=hosts), "--continue")
            self.assertNotEqual(cut.wait(60), 0, cut.output)
            self.assertIn("host b: jobs.job.checkpoint.path: this host does not reach the store as the launcher does: ", cut.output)

    def test_all_go_back_when_a_shard_dies_and_a_run_is_resumed(self):
        expected = self.calm_hash()
        run = self.begin(cluster_yaml({"job": self.job()}))
        self.training(run)
        os.kill(next(p["pid"] for p in run.processes() if p["role"] == "shard"), signal.SIGKILL)
        wait_until(lambda: "go back to their last checkpoints (epoch 2)" in run.output, 20, lambda: run.account())
        self.training(run, self.checkpoints(run) + 1)
        run.process.kill()
        run.process.wait()
        run.resume()
        self.assertEqual(run.wait(90), 0, run.output)
        self.assertRegex(run.output, r"goes on from checkpoint e000[12]-\d+, clock [1-9]")
        self.assertEqual(self.hash_of(run), expected)
        self.assertIn("epoch-0003", self.names("runs/a/job/run/"))

    def test_a_store_that_is_away_costs_checkpoints_and_no_training(self):
        run = self.begin(cluster_yaml({"job": self.job(100000, 2000)}))
        self.training(run)
        with self.subTest("one that does not answer"):
            os.kill(self.store.process.pid, signal.SIGSTOP)
            clock = run.clock()
            wait_until(lambda: run.clock() > clock + 200, 30, lambda: "clocks without a store; " + run.account())
            os.kill(self.store.process.pid, signal.SIGCONT)
            self.training(run, self.checkpoints(run) + 2)
        with self.subTest("one that is gone, and comes back with nothing"):
            given_up = run.events_text().count("checkpoint_given_up")
            self.store.end()
            wait_until(lambda: run.events_text().count("checkpoint_given_up") > given_up, 60,
                       lambda: "a checkpoint that is given up; " + run.account())
            self.assertRegex(run.events_text(), "no answer of http://127.0.0.1:[0-9]+: ")
            clock = run.clock()
            wait_until(lambda: run.clock() > clock + 200, 30, "clocks without a store")
            self.store.start()
            self.training(run, self.checkpoints(run) + 2)
            self.assertTrue(self.manifests())
            self.assertNotIn("coordinator 0 (pid", run.events_text(), "it has ended")
        with self.subTest("from which all go on"):
            os.kill(next(p["pid"] for p in run.processes() if p["role"] == "shard"), signal.SIGKILL)
            wait_until(lambda: "go back to their last checkpoints (epoch 2)" in run.output, 20, lambda: run.account())
            self.training(run, self.checkpoints(run) + 1)

    def test_two_launchers_at_once_never_have_the_same_epoch(self):
        yaml = cluster_yaml({"job": self.job(100000)})
        runs = [self.begin(yaml, "--continue") for _ in range(2)]
        said = lambda: [run for run in runs if run.process.poll() is not None]  # noqa: E731
        wait_until(lambda: said() or all(self.checkpoints(run) for run in runs) or
                   any("another launcher has gone on" in run.events_text() for run in runs), 60,
                   lambda: "who has the place; " + "\n".join(run.account() for run in runs))
        for run in said():
            self.assertRegex(run.output, "another launcher has (claimed epoch 1 there just now|gone on with the checkpoints there, in epoch 1)")
        left = [run for run in runs if run.process.poll() is None]
        self.assertTrue(left)
        self.assertEqual(len([name for name in self.names("runs/a/job/run/") if name.startswith("epoch-")]), 1)

    def test_a_launcher_that_another_has_followed_writes_no_checkpoint(self):
        first = self.begin(cluster_yaml({"job": self.job(100000)}))
        self.training(first)
        with self.subTest("which nobody does unasked"):
            said = self.refused(cluster_yaml({"job": self.job(40, 0)}))
            self.assertIn(f"jobs.job.checkpoint.path: s3://{BUCKET}/runs/a/job belongs to another run (cluster e2e, run folder ", said)
        second = self.begin(cluster_yaml({"job": self.job(100000)}), "--continue")
        self.training(second)
        wait_until(lambda: "another launcher has gone on with the checkpoints there, in epoch 2" in first.events_text(), 30,
                   lambda: "what the first says; " + first.account())
        before = self.checkpoints(first)
        self.training(second, self.checkpoints(second) + 2)
        self.assertEqual(self.checkpoints(first), before)
        self.assertTrue(all(name.startswith("e0002-") for name in self.manifests()), self.manifests())

    def test_what_the_store_refuses_is_told_before_anything_starts(self):
        yaml = cluster_yaml({"job": self.job()})
        for changes, path, says in (
                ({"AWS_SECRET_ACCESS_KEY": "wrong"}, None, "HTTP status 403, SignatureDoesNotMatch"),
                ({"AWS_ACCESS_KEY_ID": "AKIANOBODY"}, None, "AWS_ACCESS_KEY_ID: set the right"),
                ({"AWS_SECRET_ACCESS_KEY": ""}, None, "AWS_SECRET_ACCESS_KEY is not set"),
                ({"AWS_ENDPOINT_URL": "127.0.0.1:9"}, None, "AWS_ENDPOINT_URL: '127.0.0.1:9' is no address of a store"),
                ({"AWS_REGION": "a region"}, None, "AWS_REGION: 'a region' is no region"),
                ({}, "s3://none-of-them/a", "HTTP status 404, NoSuchBucket")):
            with self.subTest(says=says):
                used = cluster_yaml({"job": self.job(path=path)}) if path else yaml
                self.assertIn(says, self.refused(used, **changes))
        with self.subTest("and no connection"):
            said = self.refused(yaml, expect=1, AWS_ENDPOINT_URL="http://127.0.0.1:9")
            self.assertIn("no answer of http://127.0.0.1:9: ", said)
        with self.subTest("and what is no place"):
            self.assertIn("allowed: an absolute path, or s3://BUCKET/PREFIX", self.refused(cluster_yaml({"job": self.job(path="s3://A/b")})))


if __name__ == "__main__":
    main()
