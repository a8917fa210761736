"""What users get wrong: a clear error in seconds, the right exit code, nothing left running."""

import json
import re
import socket

from cluster import *

GOOD = {"job": {"workers": 2, "mode": ["workload", 3]}}


class BadInput(ClusterTest):
    def refused(self, yaml, expect, *parts, seconds=10, arguments=(), **options):
        run = self.run_to_end(yaml, *arguments, expect=expect, seconds=seconds, **options)
        for part in parts:
            self.assertIn(part, run.output)
        return run

    def test_yaml(self):
        good = cluster_yaml(GOOD)
        for bad, parts in (
            ("cluster:\n\tname: x\n", ("cluster.yaml:2:1", "tab")),
            (good.replace('"workers"', '"workerz"'), ("workerz", "workers")),
            (good.replace('"workers": 2', '"workers": 0'), ("workers", "0")),
            (good.replace('"shards": 2', '"shards": 0'), ("shards", "0")),
        ):
            with self.subTest(parts=parts):
                self.refused(bad, 2, *parts)

    def test_staleness_shards_and_names(self):
        ssp = {"job": {**GOOD["job"], "consistency": {"policy": "ssp", "staleness": -1}}}
        self.refused(cluster_yaml(ssp), 2, "staleness", "-1")
        tables = {"job": {**GOOD["job"], "tables": {"w": {"shape": [4]}}}}
        self.refused(cluster_yaml(tables, shards=3), 2, "shards")
        twice = "cluster: {name: x, shards: 1}\njobs:\n  a: {workers: 1, command: [x]}\n" \
                "  a: {workers: 1, command: [x]}\n"
        self.refused(twice, 2, "cluster.yaml:4", "a")

    def test_all_problems_at_once(self):
        bad = cluster_yaml(GOOD).replace('"workers": 2', '"workers": 0').replace('"shards": 2', '"shards": 0')
        self.refused(bad, 2, "workers", "shards")

    def test_missing_program_and_file(self):
        jobs = {"job": {"workers": 1, "mode": []}}
        yaml = cluster_yaml(jobs).replace(str(WORKER), "no-such-program")
        self.refused(yaml, 2, "no-such-program")
        code = subprocess.run([BIN / "tidegate", "validate", "/nonexistent.yaml"], capture_output=True)
        self.assertEqual(code.returncode, 2)
        self.assertIn(b"/nonexistent.yaml", code.stderr)

    def test_a_program_that_fails_before_it_joins(self):
        job = {"workers": 3, "mode": [], "command": ["python3", "/nonexistent/train.py"]}
        run = self.refused(cluster_yaml({"job": job}), 3, "No such file or directory", "exited with status 2",
                           "it has failed 3 times before it joined the run", "the end of its log", seconds=30)
        starts = re.findall(r'"process_(?:re)?started","detail":"worker-job-(\d)', run.events_text())
        self.assertLessEqual(max(starts.count(rank) for rank in starts), 3)

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            run = self.launch(cluster_yaml(GOOD, control={"host": "127.0.0.1", "port": port}))
            self.assertEqual(run.wait(10), 3, run.output)
            self.assertIn(str(port), run.output)
            self.assertIn("in use", run.output)

    def test_too_few_file_descriptors(self):
        yaml = cluster_yaml({"job": {"workers": 8, "mode": ["workload", 5]}})
        file = pathlib.Path(self.enterContext_folder()) / "cluster.yaml"
        file.write_text(yaml)
        plan = json.loads(subprocess.run([BIN / "tidegate", "plan", "--json", file], capture_output=True,
                                         check=True).stdout)
        most = max(one["descriptors"] for one in plan["needs"])
        few = ["prlimit", f"--nofile={most - 1}:{most - 1}"]
        for command in ("validate", "plan"):
            done = subprocess.run([*few, BIN / "tidegate", command, file], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn(f"shard-0 needs {most} file descriptors, and a process may have {most - 1} here", done.stderr)
        run = self.refused(yaml, 2, "ulimit -Hn", runner=few)
        self.assertFalse(run.run_dir.exists())
        # With what is asked for it runs, whatever the soft limit is.
        self.run_to_end(yaml, runner=["prlimit", f"--nofile=32:{most}"])

    def test_more_memory_than_there_is(self):
        tables = {"w": {"shape": [1 << 36]}}
        yaml = cluster_yaml({"job": {"workers": 2, "mode": ["workload", 5], "tables": tables}}, chunk_bytes=64 << 20)
        file = pathlib.Path(self.enterContext_folder()) / "cluster.yaml"
        file.write_text(yaml)
        plan = json.loads(subprocess.run([BIN / "tidegate", "plan", "--json", file], capture_output=True,
                                         check=True).stdout)
        self.assertEqual(sum(one["bytes"] for one in plan["memory"]), 6 * (4 << 36))
        done = subprocess.run([BIN / "tidegate", "validate", file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("may take", done.stderr)
        run = self.refused(yaml, 2, "cluster.memory_check: ignore")
        self.assertFalse(run.run_dir.exists())

    def test_no_transport_left(self):
        # Under `auto` a cluster on one host opens no UCX transport at all.
        run = self.launch(cluster_yaml(GOOD, transport="ucx"), env={"UCX_TLS": "nonsense"})
        self.assertEqual(run.wait(20), 3, run.output)
        self.assertIn("UCX_TLS", run.output)

    def test_full_disk(self):
        mount = pathlib.Path(self.enterContext_folder())
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", mount],
                          capture_output=True).returncode != 0:
            # Without the right to mount: a folder that cannot be written is as full as a disk gets.
            mount = pathlib.Path("/proc/self")
        else:
            self.addCleanup(subprocess.run, ["umount", "-l", mount])
            (mount / "ballast").write_bytes(b"x" * 12_000)
        self.refused(cluster_yaml(GOOD), 1, str(mount), run_dir=mount / "run")

    def enterContext_folder(self):
        import tempfile
        folder = tempfile.TemporaryDirectory(prefix="tidegate-e2e-")
        self.addCleanup(folder.cleanup)
        return folder.name

    def test_gradients(self):
        job = lambda mode, **more: cluster_yaml({"job": {"workers": 2, "mode": [mode], **more}})
        self.refused(job("nan"), 1, "NaN at element 0", "table 't'", "clock 0")
        self.run_to_end(job("nan", gradients={"not_finite": "allow"}))
        # Clocks are reported every 100 ms, and by whoever fails.
        alone = {"job": {"workers": 1, "mode": ["nan", 5]}}
        self.assertEqual(self.refused(cluster_yaml(alone), 1, "clock 5").result()["jobs"][0]["clocks"], 5)
        self.refused(job("shape"), 1, "999 elements; it has 1000")

    def test_no_data_set(self):
        yaml = (SOURCE / "examples/fashion_mnist.yaml").read_text()
        self.refused(yaml, 1, "dataset-fashion-mnist", "/nonexistent", arguments=(
            "--set", "jobs.mlp.command=[fashion_mnist, --model, mlp, --data, /nonexistent]"))

    def test_a_worker_of_another_protocol(self):
        # env changes what the launcher tells, as a worker built with another Tidegate reads it.
        for setting, says in (("TIDEGATE_PROTOCOL=250", "the launcher speaks 250"),
                              ("--unset=TIDEGATE_PROTOCOL", "the launcher does not say")):
            job = {"workers": 1, "mode": [], "command": ["env", setting, str(WORKER), "workload", "3"]}
            self.refused(cluster_yaml({"job": job}), 3, "built for protocol", says,
                         "rebuild the worker against the installed Tidegate")

    def test_outside_a_cluster(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith("TIDEGATE_")}
        alone = subprocess.run([WORKER, "idle"], capture_output=True, env=env)
        self.assertEqual(alone.returncode, 2)
        self.assertIn(b"tidegate launch", alone.stderr)


main()
