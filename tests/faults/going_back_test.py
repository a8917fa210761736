"""Jobs with checkpoints outlive shards: everything goes back to the last checkpoint, and the result
is that of a run in which nothing happened. A coordinator comes back alone, and checkpoints go on."""

import unittest

from faults import *

OFTEN = {role: {"max_restarts": 1000, "backoff": "1ms"} for role in ("worker", "shard", "aggregator", "coordinator")}


class GoingBack(FaultTest):
    def yaml(self, job, **rest):
        job = {"checkpoint": {"every": "20 clocks", "keep": 2}, **job}
        return json.dumps({**json.loads(cluster_yaml({"job": job}, **rest)), "supervision": OFTEN})

    def kill_between(self, run, role, kills, seed):
        """Kills one of a role each time that a checkpoint has been written since the last kill."""
        chance = random.Random(seed)
        killed = 0
        while killed < kills and run.process.poll() is None:
            if role == "shard":  # all processes end to go back: who is killed then is killed twice
                wait_until(lambda: self.count_events(run, "going_back") >= killed or run.process.poll() is not None, 40,
                           "the way back")
            before = self.count_events(run, "checkpoint")
            wait_until(lambda: self.count_events(run, "checkpoint") > before or run.process.poll() is not None,
                       40, "another checkpoint")
            time.sleep(chance.uniform(0, 0.1))  # the moment is what is drawn
            living = [p["pid"] for p in run.processes() if p["role"] == role and alive(p["pid"])]
            if not living or run.process.poll() is not None:
                continue
            try:
                os.kill(chance.choice(living), signal.SIGKILL)
                killed += 1
            except ProcessLookupError:
                pass  # the launcher ends all processes just now, to go back after the kill before
        return killed

    def test_same_bits_after_the_death_of_each_role(self):
        for seed, (role, transport) in enumerate((("shard", "auto"), ("coordinator", "tcp"))):
            with self.subTest(role=role, transport=transport):
                job = {"workers": 3, "mode": ["workload", 400, 8000, "exchange"],
                       "optimizer": {"name": "adam", "learning_rate": 0.05}}
                calm = {**job, "mode": ["workload", 400, 0, "exchange"]}
                expected = self.hash_of(self.run_to_end(self.yaml(calm, transport=transport)))
                run = self.launch(self.yaml(job, transport=transport))
                killed = self.kill_between(run, role, 2, seed)
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(killed, 2)
                self.assertEqual(self.hash_of(run), expected)
                if role == "coordinator":
                    self.assertNotIn("go back", run.output)
                    self.assertFalse(any(self.count_events(run, what) for what in ("epoch", "going_back")))
                else:
                    self.assertIn("go back to their last checkpoints (epoch 3)", run.output)
                self.assert_nothing_left(run)

    def test_a_model_is_exported_after_the_run(self):
        run = self.run_to_end(self.yaml({"workers": 2, "mode": ["workload", 60]}))
        self.assertGreaterEqual(self.count_events(run, "checkpoint"), 1)
        model = run.folder / "model.safetensors"
        subprocess.run([BIN / "tidegate", "export", run.run_dir, "-o", model], check=True, timeout=30,
                       stdout=subprocess.DEVNULL)
        header = json.loads(model.read_bytes()[8:8 + int.from_bytes(model.read_bytes()[:8], "little")])
        self.assertEqual(header["table-0"]["shape"], [300, 300])
        self.assertEqual(header["table-1"]["shape"], [10])

    @unittest.skipUnless("TIDEGATE_PYTHON" in os.environ, "scripts/test installs what reads it")
    def test_others_read_an_exported_model(self):
        run = self.run_to_end(self.yaml({"workers": 2, "mode": ["workload", 60]}))
        model = run.folder / "model.safetensors"
        subprocess.run([BIN / "tidegate", "export", run.run_dir, "-o", model], check=True, timeout=30,
                       stdout=subprocess.DEVNULL)
        read = ("import hashlib, sys; from safetensors.numpy import load_file; made = load_file(sys.argv[1]); "
                "print(*(str(made[n].dtype) + str(made[n].shape) for n in sorted(made))); "
                "print(hashlib.sha256(b''.join(made[n].tobytes() for n in sorted(made))).hexdigest())")
        said = subprocess.run([os.environ["TIDEGATE_PYTHON"], "-c", read, model], check=True, timeout=60,
                              capture_output=True, text=True).stdout.splitlines()
        self.assertEqual(said, ["float32(300, 300) float32(10,)", run.result()["jobs"][0]["parameters_sha256"]])

    def test_no_push_is_lost_or_applied_twice(self):
        clocks, workers = 400, 3
        run = self.launch(self.yaml({"workers": workers, "max_workers": 5, "mode": ["count", clocks, 8000], "reduce": "sum",
                                     "consistency": {"policy": "ssp", "staleness": 2}}))
        self.assertEqual(self.kill_between(run, "shard", 2, 9), 2)
        self.assertEqual(run.wait(60), 0, run.output)
        job = run.result()["jobs"][0]
        self.assertEqual(job["metrics"]["pushes"], clocks * workers)
        self.assert_nothing_left(run)


main()
