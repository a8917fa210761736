"""What users get wrong: a clear error in seconds, the right exit code, nothing left running."""

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

    def test_port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            run = self.launch(cluster_yaml(GOOD, control={"host": "127.0.0.1", "port": port}))
            self.assertEqual(run.wait(10), 3, run.output)
            self.assertIn(str(port), run.output)
            self.assertIn("in use", run.output)

    def test_no_transport_left(self):
        run = self.launch(cluster_yaml(GOOD), env={"UCX_TLS": "nonsense"})
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
