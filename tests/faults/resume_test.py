"""A run whose launcher was killed goes on where its last checkpoints are, or from the beginning, and ends with the
result of a run in which nothing happened; only one launcher at a time has a run, and one that is done stays so."""

from faults import *

CHECKPOINT = {"every": "20 clocks", "keep": 2}


class Resume(FaultTest):
    def yaml(self, job, **rest):
        return cluster_yaml({"job": job}, **rest)

    def calm_hash(self, job, **rest):
        words = list(job["mode"])
        words[2] = 0  # no pauses
        return self.hash_of(self.run_to_end(self.yaml({**job, "mode": words}, **rest)))

    def kill_launcher(self, run, chance):
        """At a random moment after this life has made progress."""
        before = run.resumed
        wait_until(lambda: self.progress_of(run) > before or run.process.poll() is not None, 40, "progress")
        time.sleep(chance.uniform(0, 0.3))  # the moment is what is drawn
        self.assertIsNone(run.process.poll(), run.output)
        run.process.kill()
        run.process.wait()

    def progress_of(self, run):
        """Checkpoints, or for a job without them its first clocks."""
        if "checkpoint" in run.yaml.read_text():
            return self.count_events(run, "checkpoint")
        return min(run.clock(), 1)

    def resume(self, run):
        run.resumed = self.count_events(run, "checkpoint")
        run.resume()

    def launch(self, *arguments, **options):
        run = super().launch(*arguments, **options)
        run.resumed = 0
        return run

    def test_same_bits_after_the_launcher_was_killed_twice(self):
        for seed, (transport, way) in enumerate((("auto", "exchange"), ("tcp", "in_place"))):
            with self.subTest(transport=transport, way=way):
                job = {"workers": 3, "mode": ["workload", 400, 8000, way], "checkpoint": CHECKPOINT,
                       "optimizer": {"name": "adam", "learning_rate": 0.05}}
                expected = self.calm_hash(job, transport=transport)
                chance = random.Random(seed)
                run = self.launch(self.yaml(job, transport=transport))
                for life in (2, 3):
                    self.kill_launcher(run, chance)
                    self.resume(run)
                    wait_until(lambda: f"(epoch {life})" in run.output, 20, "another life")
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                self.assertEqual(run.output.count("goes on from checkpoint e000"), 2, run.output)
                events = [json.loads(line) for line in run.events_text().splitlines()]
                self.assertEqual([e["detail"] for e in events if e["kind"] == "run_resumed"], ["epoch 2", "epoch 3"])
                self.assertEqual(sum(e["kind"] == "launched" for e in events), 1)
                self.assertEqual((run.run_dir / "logs/shard-0.log").read_text().count("job job: bsp"), 3, "three lives")
                self.assert_nothing_left(run)

    def test_without_checkpoints_it_begins_anew(self):
        job = {"workers": 2, "mode": ["workload", 150, 8000, "exchange"],
               "optimizer": {"name": "momentum", "learning_rate": 0.05}}
        expected = self.calm_hash(job)
        run = self.launch(self.yaml(job))
        self.kill_launcher(run, random.Random(3))
        self.resume(run)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertIn("job job begins anew", run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)

    def test_after_a_death_too_many(self):
        job = {"workers": 2, "mode": ["workload", 300, 8000, "exchange"], "checkpoint": CHECKPOINT}
        expected = self.calm_hash(job)
        yaml = json.loads(self.yaml(job))
        yaml["supervision"] = {"shard": {"max_restarts": 0}}
        run = self.launch(json.dumps(yaml))
        wait_until(lambda: self.count_events(run, "checkpoint") > 0, 40, "a checkpoint")
        os.kill(next(p["pid"] for p in run.processes() if p["role"] == "shard"), signal.SIGKILL)
        self.assertEqual(run.wait(30), 3, run.output)
        self.assertIn("tidegate launch --resume", run.output)
        self.resume(run)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)

    def test_after_an_interrupt(self):
        job = {"workers": 2, "mode": ["workload", 300, 8000, "exchange"], "checkpoint": CHECKPOINT}
        expected = self.calm_hash(job)
        run = self.launch(self.yaml(job))
        wait_until(lambda: self.count_events(run, "checkpoint") > 0, 40, "a checkpoint")
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(30), 1, run.output)
        self.assertEqual(run.result()["jobs"][0]["state"], "interrupted")
        self.assertIn(f"go on with it: tidegate launch --resume {run.run_dir}", run.output)
        self.resume(run)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertIn("goes on from checkpoint", run.output)
        self.assertEqual(self.hash_of(run), expected)

    def test_an_interrupt_writes_a_last_checkpoint_first(self):
        """No other is due in this run, so what is gone on with is the one of the interrupt."""
        job = {"workers": 2, "mode": ["workload", 400, 8000, "exchange"], "checkpoint": {"every": "60m"}}
        expected = self.calm_hash(job)
        run = self.launch(self.yaml(job))
        wait_until(lambda: run.clock() > 20, 30, f"clock 20; {run.output}")
        before = run.clock()
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(30), 1, run.output)
        self.assertIn("writing a last checkpoint, which may take 30s (cluster.start_timeout); Ctrl-C again to leave at "
                      "once", run.output)
        self.assertEqual(run.result()["jobs"][0]["state"], "interrupted")
        self.assertIn(f"go on with it: tidegate launch --resume {run.run_dir}", run.output)
        written = [re.fullmatch(r"job e0001-\d+ clock (\d+)", event["detail"])
                   for event in map(json.loads, run.events_text().splitlines()) if event["kind"] == "checkpoint"]
        self.assertEqual(len(written), 1, run.events_text())
        self.assertGreaterEqual(int(written[0][1]), before)
        self.resume(run)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertRegex(run.output, f"goes on from checkpoint .*{written[0][1]}")
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)

    def test_a_second_interrupt_leaves_at_once(self):
        job = {"workers": 2, "mode": ["forever"], "checkpoint": {"every": "60m"}}
        made = json.loads(self.yaml(job))
        made["supervision"] = {"heartbeat": {"timeout": "60s"}}
        run = self.launch(json.dumps(made))
        run.wait_for_training(5)
        wait_until(lambda: run.clock() > 20, 30, f"clock 20; {run.output}")
        # No checkpoint can be written without it.
        os.kill(next(p["pid"] for p in run.processes() if p["role"] == "shard"), signal.SIGSTOP)
        run.process.send_signal(signal.SIGINT)
        wait_until(lambda: "writing a last checkpoint" in run.output, 10, f"what it does; {run.output}")
        self.assertIsNone(run.process.poll())
        begin = time.monotonic()
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(10), 1, run.output)
        self.assertLess(time.monotonic() - begin, 2.0)
        self.assertEqual(self.count_events(run, "checkpoint"), 0)
        self.assert_nothing_left(run)

    def test_a_run_has_one_launcher(self):
        run = self.launch(self.yaml({"workers": 2, "mode": ["forever"]}))
        run.wait_for_training(5)
        second = self.resume_beside(run)
        self.assertEqual(second.returncode, 2)
        self.assertIn("a launcher of this run lives", second.stderr)
        self.assertEqual(self.count_events(run, "run_resumed"), 0)
        self.assertIsNone(run.process.poll())
        self.assertTrue(all(alive(p["pid"]) for p in run.processes()))

    def resume_beside(self, run):
        return subprocess.run([BIN / "tidegate", "launch", "--resume", run.run_dir], capture_output=True, text=True,
                              timeout=30)

    def test_a_run_that_is_done_is_left_alone(self):
        run = self.run_to_end(self.yaml({"workers": 2, "mode": ["workload", 5]}))
        events, result = run.events_text(), run.result()
        second = self.resume_beside(run)
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertIn("done already", second.stdout)
        self.assertEqual((run.events_text(), run.result()), (events, result))

    def test_what_is_no_run_is_refused(self):
        run = self.run_to_end(self.yaml({"workers": 1, "mode": ["workload", 5]}))
        for folder, said in ((run.folder, "no run began here"), (run.folder / "none", "no run began here")):
            done = subprocess.run([BIN / "tidegate", "launch", "--resume", folder], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        self.assertEqual({path.name for path in run.folder.iterdir()}, {"cluster.yaml", "output", "pulls", "run", "tmp"})

    def test_what_a_worker_had_started_is_gone_and_paths_mean_what_they_meant(self):
        # A worker that is a script with a relative path, and leaves a process of its own in another group; what has gone
        # into a session of its own, as a tmux server does, has left the run.
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-e2e-"))
        self.addCleanup(shutil.rmtree, folder, True)
        script = folder / "worker.sh"
        script.write_text("#!/bin/bash\nset -m\nsleep 1000 &\necho $! > helper.$TIDEGATE_EPOCH\nset +m\n"
                          "setsid sleep 1000 &\necho $! > daemon.$TIDEGATE_EPOCH\n"
                          f"exec {WORKER} workload 300 8000 exchange\n")
        script.chmod(0o755)
        yaml = json.loads(self.yaml({"workers": 1, "mode": ["workload"], "checkpoint": CHECKPOINT}))
        yaml["jobs"]["job"]["command"] = ["./worker.sh"]
        run = self.launch(json.dumps(yaml), cwd=folder)
        wait_until(lambda: self.count_events(run, "checkpoint") > 0, 40, "a checkpoint")
        pids = {file.name: int(file.read_text()) for file in folder.glob("*.1")}
        self.addCleanup(os.kill, pids["daemon.1"], signal.SIGKILL)
        run.process.kill()
        run.process.wait()
        self.assertTrue(alive(pids["helper.1"]))
        self.resume(run)  # in another folder
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertFalse(alive(pids["helper.1"]))
        self.assertTrue(alive(pids["daemon.1"]))
        for file in folder.glob("*.2"):
            os.kill(int(file.read_text()), signal.SIGKILL)

    def test_the_run_folder_is_its_users_alone(self):
        job = {"workers": 1, "mode": ["workload", 5], "env": {"SECRET": "s"}}
        run = self.run_to_end(self.yaml(job))
        mode = lambda path: path.stat().st_mode & 0o777  # noqa: E731
        self.assertEqual(mode(run.run_dir), 0o700)
        self.assertEqual({mode(run.run_dir / name) for name in ("cluster.yaml", "launcher.json")}, {0o600})


main()
