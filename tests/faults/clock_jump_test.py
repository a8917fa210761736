"""The machine's clock is set back by an hour while a job runs: what is due by time comes when it is due, and nothing else
changes. Real processes; their wall clock is taken from tests/faults/clock_jump.c."""

from faults import *


class ClockJump(FaultTest):
    def test_set_back_by_an_hour(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-clock-"))
        self.addCleanup(shutil.rmtree, folder)
        library, flag = folder / "clock_jump.so", folder / "jump"
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE / "tests/faults/clock_jump.c"], check=True)
        job = {"workers": 2, "mode": ["workload", 500, 8000, "exchange"], "optimizer": {"name": "adam", "learning_rate": 0.05}}
        expected = self.hash_of(self.run_to_end(cluster_yaml({"job": {**job, "mode": ["workload", 500, 0, "exchange"]}})))
        run = self.launch(cluster_yaml({"job": {**job, "checkpoint": {"every": "200ms", "keep": 2}}}),
                          env={"LD_PRELOAD": str(library), "CLOCK_JUMP": str(flag)})
        wait_until(lambda: self.count_events(run, "checkpoint") >= 2 or run.process.poll() is not None, 30, "checkpoints")
        flag.touch()
        before = self.count_events(run, "checkpoint")
        wait_until(lambda: self.count_events(run, "checkpoint") >= before + 3 or run.process.poll() is not None, 30,
                   "more of them")
        self.assertIsNone(run.process.poll(), "before the one at the end")
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        times = [json.loads(line)["unix_ns"] for line in run.events_text().splitlines()]
        self.assertLess(max(times) - min(times), 60e9, "no event is an hour away")
        self.assertEqual(self.count_events(run, "process_restarted"), 0)
        self.assert_nothing_left(run)


main()
