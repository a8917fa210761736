"""The disk of the run folder is full for a while: training goes on, the coordinator waits for its journal, and checkpoints
come again when there is room; when it stays full, the run says so, and goes on when it is resumed. Skipped where no file system can be mounted (it needs root)."""

from faults import *

OFTEN = {"max_restarts": 100000, "backoff": "10ms..100ms"}


class DiskFull(FaultTest):
    def small_disk(self):
        folder = tempfile.mkdtemp(prefix="tidegate-disk-")
        self.addCleanup(os.rmdir, folder)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", folder], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest(mounted.stderr.decode())
        self.addCleanup(subprocess.run, ["umount", folder], check=True)
        return pathlib.Path(folder)

    def yaml(self, pause, faults=None):
        made = json.loads(cluster_yaml({"job": {
            "workers": 3, "mode": ["workload", 700, pause, "exchange"], "optimizer": {"name": "adam", "learning_rate": 0.05},
            "checkpoint": {"every": "40 clocks", "keep": 2}}}))
        made["cluster"]["replicas"] = 1
        made["faults"] = faults or {}
        made["supervision"] = {role: OFTEN for role in ("worker", "shard", "coordinator")}
        return json.dumps(made)

    def fill(self, run, *arguments):
        return subprocess.run([BIN / "tidegate", "chaos", run.run_dir, "fill", *arguments], capture_output=True, text=True,
                              timeout=60)

    def test_full_for_a_while(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0)))
        run = self.launch(self.yaml(8000, {"at": {"clock 100": "fill:1s"}}), run_dir=self.small_disk() / "run")
        noted = run.run_dir / "chaos.jsonl"
        wait_until(lambda: noted.exists() and '"free"' in noted.read_text() or run.process.poll() is not None, 30,
                   "it was full, and has room again")
        before = self.count_events(run, "checkpoint")
        # Its logs may have gaps, which is said, and told by the exit code.
        self.assertIn(run.wait(60), (0, 1), run.output)
        self.assertEqual(run.result()["jobs"][0]["state"], "done")
        self.assertEqual(self.hash_of(run), expected)
        self.assertGreater(self.count_events(run, "checkpoint"), before, "there is room again")
        self.assertEqual(self.count_events(run, "going_back"), 0)
        self.assertGreater(self.count_events(run, "checkpoint_given_up") + self.count_events(run, "coordinator_resumes"), 0,
                           "the full disk was noticed")
        restarted = [json.loads(line)["detail"] for line in run.events_text().splitlines() if "process_restarted" in line]
        self.assertEqual([one for one in restarted if not one.startswith("coordinator-0")], [], "nobody else")
        shutil.rmtree(run.run_dir)
        self.assert_nothing_left(run)

    def fill_until_freed(self, folder):
        """Takes all room, and returns the file to remove."""
        filler = folder / "filler"
        with open(filler, "wb", buffering=0) as file:
            for block in (1 << 20, 1 << 12):
                while True:
                    try:
                        file.write(bytes(block))
                    except OSError:
                        break
        return filler

    def test_full_until_somebody_makes_room(self):
        expected = self.hash_of(self.run_to_end(self.yaml(0)))
        made = json.loads(self.yaml(8000))
        made["supervision"]["coordinator"] = {"max_restarts": 2, "backoff": "10ms..20ms"}
        folder = self.small_disk()
        run = self.launch(json.dumps(made), run_dir=folder / "run")
        wait_until(lambda: self.count_events(run, "checkpoint") > 0 or run.process.poll() is not None, 30, "a checkpoint")
        filler = self.fill_until_freed(folder)
        self.assertEqual(run.wait(60), 3, run.output)
        self.assertIn("exited with status 5: the disk of the run folder is full", run.output)
        self.assertRegex(run.output, r"times within 60000 ms \(supervision.coordinator.max_restarts\)")
        filler.unlink()
        run.resume()
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        shutil.rmtree(run.run_dir)
        self.assert_nothing_left(run)

    def test_a_large_disk_is_not_filled(self):
        run = self.launch(self.yaml(100000))
        wait_until(lambda: (run.run_dir / "events.jsonl").exists(), 10, "a run folder")
        if shutil.disk_usage(run.run_dir).free > 5 << 30:
            done = self.fill(run)
            self.assertEqual(done.returncode, 1)
            self.assertIn("MiB free; allowed: up to 4096", done.stderr)
        run.process.terminate()
        run.wait(20)


main()
