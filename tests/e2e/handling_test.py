"""`tidegate stop`, `logs` and `ls` on runs that go on, have ended, and have lost their launcher."""

import json
import tempfile

from cluster import *

LONG = ["workload", 100000, 2000, "exchange"]


def tidegate(*words, **options):
    return subprocess.run([BIN / "tidegate", *map(str, words)], capture_output=True, text=True, timeout=60, **options)


class Handling(ClusterTest):
    def start(self, **job):
        run = self.launch(cluster_yaml({"job": {"workers": 2, "mode": LONG, **job}}))
        wait_until(lambda: self.clock(run) > 20, 30, "some clocks")
        return run

    def clock(self, run):
        done = tidegate("status", run.run_dir, "--json")
        jobs = json.loads(done.stdout)["jobs"] if done.returncode == 0 else []
        return jobs[0].get("clock_slowest", 0) if jobs else 0

    def test_stop(self):
        run = self.start(checkpoint={"every": "1000000 clocks"})
        processes = run.processes()
        waiting = subprocess.Popen([BIN / "tidegate", "stop", run.run_dir], stdout=subprocess.PIPE, text=True)
        done = tidegate("stop", run.run_dir)  # a second one waits, too, and ends nothing at once
        if done.returncode != 0:  # the first was faster
            self.assertIn("no launcher lives", done.stderr)
        self.assertEqual(waiting.wait(30), 0)
        text = waiting.stdout.read()
        self.assertIn("cluster e2e has ended, exit code 1", text)
        self.assertIn("interrupted", text)
        waiting.stdout.close()
        self.assertEqual(run.wait(30), 1, run.account())
        self.assertEqual(run.result()["jobs"][0]["state"], "interrupted")
        self.assertIn("go on with it: tidegate launch --resume", run.output)
        self.assertTrue(list((run.run_dir / "checkpoints/job").glob("*.manifest")), "the last checkpoint")
        self.assert_all_gone(processes, 10)
        again = tidegate("stop", run.run_dir)
        self.assertEqual((again.returncode, again.stdout), (1, ""))
        self.assertIn("no launcher lives in", again.stderr)

    def test_stop_now(self):
        run = self.start(checkpoint={"every": "1000000 clocks"})
        self.assertEqual(tidegate("stop", run.run_dir, "--now").returncode, 0)
        self.assertEqual(run.wait(30), 1, run.account())
        self.assertFalse(list((run.run_dir / "checkpoints/job").glob("*.manifest")), "no checkpoint")

    def test_logs(self):
        run = self.start()
        shown = tidegate("logs", run.run_dir)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        for name in ("coordinator-0", "shard-0", "shard-1", "worker-job-0", "worker-job-1"):
            self.assertIn(f"==> {name} <==\n", shown.stdout)
        self.assertIn("control plane on", shown.stdout)
        log = run.run_dir / "logs/shard-0.log"
        self.assertEqual(tidegate("logs", run.run_dir, "shard-0").stdout, log.read_text())
        self.assertEqual(tidegate("logs", run.run_dir, "shard-0", "-n", 1).stdout, log.read_text().splitlines()[-1] + "\n")
        missing = tidegate("logs", run.run_dir, "shrad-0")
        self.assertEqual(missing.returncode, 1)
        self.assertIn("did you mean shard-0?", missing.stderr)
        self.assertEqual(tidegate("logs", run.run_dir / "none").returncode, 1)
        followed = subprocess.Popen([BIN / "tidegate", "logs", run.run_dir, "-f", "-n", "1"], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
        self.assertIn("==>", followed.stdout.readline())
        self.assertEqual(tidegate("stop", run.run_dir).returncode, 0)
        text = followed.communicate(timeout=30)[0]
        self.assertEqual(followed.returncode, 0, text)
        self.assertRegex(text, r"\[coordinator-0\] .* interrupted by tidegate stop\n")
        self.assertEqual(text.count("interrupted by tidegate stop"), 1, "each line once")
        run.wait(30)

    def test_ls(self):
        done = self.run_to_end(cluster_yaml({"job": {"workers": 1, "mode": ["workload", 3, 0, "exchange"]}}))
        going = self.start()
        lost = self.start()
        lost.process.kill()
        lost.process.wait()
        with tempfile.TemporaryDirectory() as folder:
            for name, run in (("done", done), ("going", going), ("lost", lost)):
                (pathlib.Path(folder) / name).symlink_to(run.run_dir)
            (pathlib.Path(folder) / "other").mkdir()
            listed = {run["run"].rsplit("/", 1)[1]: run for run in map(json.loads, tidegate("ls", folder, "--json").stdout.splitlines())}
            self.assertEqual({name: run["state"] for name, run in listed.items()},
                             {"done": "ended", "going": "running", "lost": "lost"})
            self.assertEqual(listed["done"]["exit_code"], 0)
            text = tidegate("ls", folder).stdout
            self.assertRegex(text, rf"done +done +job +bsp +3 .*{done.result()['jobs'][0]['parameters_sha256'][:12]}\n")
            self.assertRegex(text, r"going +running")
        self.assertEqual(tidegate("stop", going.run_dir).returncode, 0)
        going.wait(30)
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(tidegate("ls", cwd=folder).returncode, 1)
            empty = tidegate("ls", folder)
            self.assertEqual((empty.returncode, empty.stdout), (0, f"no runs are in {folder}\n"))


if __name__ == "__main__":
    main()
