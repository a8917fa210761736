"""Plugins: functions of a user's shared library run on shards and aggregators, and what is wrong with one is told."""

import json
import re

from cluster import *

ROUGH = """
#include <tidegate/plugin.h>
static volatile int* volatile nowhere;
static int32_t crash(const tidegate_chunk* c, const double* a, double* r) {
  (void)c; (void)a; *nowhere = 1; r[0] = 0; return 0;
}
static int32_t hang(const tidegate_chunk* c, const double* a, double* r) {
  (void)c; (void)a; r[0] = 0; for (volatile int on = 1; on;) {} return 0;
}
static const tidegate_function functions[] = {
  {.name = "crash", .results = 1, .run = crash}, {.name = "hang", .results = 1, .run = hang}};
static void crashes(const tidegate_step* s) { (void)s; *nowhere = 1; }
static void hangs(const tidegate_step* s) { (void)s; for (volatile int on = 1; on;) {} }
static const tidegate_optimizer optimizers[] = {{.name = "crashes", .step = crashes}, {.name = "hangs", .step = hangs}};
static const tidegate_plugin plugin = {.abi = TIDEGATE_PLUGIN_ABI, .function_count = 2, .functions = functions,
                                       .optimizer_count = 2, .optimizers = optimizers};
const tidegate_plugin* tidegate_plugin_of(void) { return &plugin; }
"""


class Plugins(ClusterTest):
    @classmethod
    def setUpClass(cls):
        import tempfile

        cls.folder = tempfile.TemporaryDirectory(prefix="tidegate-plugins-")
        folder = pathlib.Path(cls.folder.name)
        cls.addClassCleanup(cls.folder.cleanup)
        (folder / "rough.c").write_text(ROUGH)
        (folder / "old.c").write_text(ROUGH.replace(".abi = TIDEGATE_PLUGIN_ABI", ".abi = 0"))
        cls.mine, cls.rules, cls.rough, cls.old = (folder / f"lib{name}.so" for name in ("mine", "rules", "rough", "old"))
        for source, library in ((SOURCE / "examples/plugin/count_between.c", cls.mine), (SOURCE / "examples/plugin/rules.c", cls.rules),
                                (folder / "rough.c", cls.rough), (folder / "old.c", cls.old)):
            subprocess.run(["gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
                            "-ffp-contract=off", "-shared", "-fPIC", "-I", SOURCE / "include", "-o", library, source, "-lm"],
                           check=True)

    def yaml(self, plugin, *call, job={}, **cluster):
        jobs = {"job": {"workers": 2, "mode": ["call", *call], **job}}
        return cluster_yaml(jobs, **{"chunk_bytes": 256, "plugins": [str(plugin)], **cluster})

    def called(self, yaml):
        job = self.run_to_end(yaml).result()["jobs"][0]
        return [job["metrics"][f"result_{i}"] for i in range(len(job["metrics"]))]

    def test_functions_of_a_plugin_run_on_shards(self):
        # The worker's table has 1,000 elements, which are their indices over 1,000.
        for job, cluster in (({}, {}), ({}, {"transport": "tcp", "replicas": 1}), ({}, {"shards": 1, "max_shards": 3}),
                             ({"aggregators": {"fan_in": 2}}, {})):
            with self.subTest(**job, **cluster):
                self.assertEqual(self.called(self.yaml(self.mine, "count_between", 0.25, 0.5, job=job, **cluster)), [250])
                count, total, squares = self.called(self.yaml(self.mine, "moments", job=job, **cluster))
                self.assertEqual(count, 1000)
                self.assertAlmostEqual(total, 499.5, places=3)
                self.assertAlmostEqual(squares, 332.8335, places=3)

    def test_functions_of_a_plugin_are_shown_rows(self):
        # The table's rows have 4 of these elements, by the index of their first.
        def yaml(*call, **cluster):
            return cluster_yaml({"job": {"workers": 2, "mode": ["call_rows", *call]}}, plugins=[str(self.mine)], **cluster)

        for cluster in ({}, {"transport": "tcp", "replicas": 1}, {"shards": {"count": 2, "device": "emulated:2"}}):
            with self.subTest(**cluster):
                # A row from 0.096 on has a norm of 0.195, the next of 0.203.
                self.assertEqual(self.called(yaml("small_rows", 0.2, **cluster)), [25])
                self.assertEqual(self.called(yaml("least_id", **cluster)), [0])
                self.assertEqual(self.called(yaml("count_rows", **cluster)), [250])
                count, total, _ = self.called(yaml("moments", **cluster))
                self.assertEqual(count, 1000)
                self.assertAlmostEqual(total, 499.5, places=3)
        run = self.run_to_end(self.yaml(self.mine, "least_id"), expect=1)
        self.assertIn("or a table of this kind", run.output)

    def rules_yaml(self, optimizer, way="exchange", pause=0, job={}, **cluster):
        jobs = {"job": {"workers": 3, "mode": ["workload", 60, pause, way], "optimizer": optimizer, **job}}
        return cluster_yaml(jobs, **{"chunk_bytes": "16KiB", "plugins": [str(self.rules)], **cluster})

    def test_rules_of_a_plugin_give_the_same_bits_on_any_cluster(self):
        lion = {"name": "plugin:lion", "states": 1, "learning_rate": 0.01, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1}
        strongest = {"name": "adam", "learning_rate": 0.01, "reduce": "plugin:strongest"}
        rows = {"name": "plugin:lion", "states": 1, "learning_rate": 0.01}
        for optimizer, way in ((lion, "exchange"), (strongest, "exchange"), (rows, "rows")):
            hashes = {}
            for job, cluster in (({}, {}), ({}, {"transport": "tcp", "shards": 3}),
                                 ({} if way == "rows" else {"aggregators": {"fan_in": 2}}, {"replicas": 1})):
                with self.subTest(optimizer=optimizer, **job, **cluster):
                    run = self.run_to_end(self.rules_yaml(optimizer, way, job=job, **cluster))
                    hashes[run.result()["jobs"][0]["parameters_sha256"]] = (job, cluster)
            self.assertEqual(len(hashes), 1, hashes)

    def test_states_of_a_rule_outlive_a_shard(self):
        lion = {"name": "plugin:lion", "states": 1, "learning_rate": 0.01}
        expected = self.run_to_end(self.rules_yaml(lion)).result()["jobs"][0]["parameters_sha256"]
        for cluster, job in (({"replicas": 1}, {}), ({}, {"checkpoint": {"every": "5 clocks"}})):
            with self.subTest(**cluster, **job):
                run = self.launch(self.rules_yaml(lion, pause=5000, job=job, **cluster))
                processes = run.wait_for_training(1 + 2 + 3 + 2 * len(cluster))
                wait_until(lambda: run.clock() > 20, 30, "clocks")
                os.kill(next(p["pid"] for p in processes if p["role"] == "shard" and p["index"] == 0), signal.SIGKILL)
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(run.result()["jobs"][0]["parameters_sha256"], expected)

    def test_rules_that_are_wrong_are_told_before_anything_starts(self):
        for optimizer, part in (({"name": "plugin:lost"}, "'plugin:lost' is not here; allowed: plugin:lion, plugin:group_soft"),
                                ({"name": "plugin:lion"}, "allowed: states: 1"),
                                ({"name": "sgd", "reduce": "plugin:median"}, "allowed: plugin:strongest")):
            with self.subTest(optimizer=optimizer):
                run = self.run_to_end(self.rules_yaml(optimizer), expect=2, seconds=10)
                self.assertIn("cluster.plugins: job job: optimizer.", run.output)
                self.assertIn(part, run.output)
                self.assertFalse(run.run_dir.exists())

    def test_a_rule_that_crashes_or_hangs_ends_its_shard_which_names_it(self):
        for name, part in (("crashes", r"function 'crashes' of plugin \S+/librough.so crashed: SIGSEGV"),
                           ("hangs", r"function 'hangs' of a plugin did not return in time")):
            with self.subTest(name=name):
                jobs = {"job": {"workers": 1, "mode": ["workload", 5], "optimizer": {"name": f"plugin:{name}"}}}
                run = self.run_to_end(cluster_yaml(jobs, plugins=[str(self.rough)], plugin_timeout="200ms"), expect=3)
                self.assertRegex(run.output, part)

    def test_what_a_worker_asks_wrongly_is_told(self):
        for call, part in ((("count_between", 2, 1), "refuses these 2 arguments"), (("count_between",), "refuses these 0"),
                           (("median",), "no plugin of the cluster has such a function")):
            with self.subTest(call=call):
                run = self.run_to_end(self.yaml(self.mine, *call), expect=1)
                self.assertIn(part, run.output)

    def test_a_plugin_that_is_not_right_is_told_before_anything_starts(self):
        for plugin, part in (("/nowhere/libmine.so", "cannot be loaded"), (self.old, "is of ABI 0"),
                             (SOURCE / "README.md", "cannot be loaded")):
            with self.subTest(plugin=plugin):
                run = self.run_to_end(self.yaml(plugin, "moments"), expect=2, seconds=10)
                self.assertIn(part, run.output)
                self.assertIn("cluster.plugins", run.output)
                self.assertFalse(run.run_dir.exists())

    def test_a_bare_name_is_of_the_folder_that_launch_is_called_in(self):
        run = self.run_to_end(self.yaml("libmine.so", "count_between", 0, 2), cwd=self.mine.parent)
        self.assertEqual(run.result()["jobs"][0]["metrics"]["result_0"], 1000)

    def test_validate_tells_of_a_plugin_that_is_missing(self):
        file = pathlib.Path(self.folder.name) / "c.yaml"
        file.write_text(self.yaml("/nowhere/libmine.so", "moments"))
        done = subprocess.run([BIN / "tidegate", "validate", file], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertIn("cluster.plugins: plugin /nowhere/libmine.so cannot be loaded", done.stderr)

    def test_a_function_that_crashes_or_hangs_ends_its_shard_which_names_it(self):
        for name, part in (("crash", r"function 'crash' of plugin \S+/librough.so crashed: SIGSEGV"),
                           ("hang", r"function 'hang' of a plugin did not return in time")):
            with self.subTest(name=name):
                run = self.run_to_end(self.yaml(self.rough, name, plugin_timeout="200ms"), expect=3)
                self.assertRegex(run.output, part)


main()
