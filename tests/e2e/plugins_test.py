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
static const tidegate_plugin plugin = {.abi = TIDEGATE_PLUGIN_ABI, .function_count = 2, .functions = functions};
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
        cls.mine, cls.rough, cls.old = (folder / f"lib{name}.so" for name in ("mine", "rough", "old"))
        for source, library in ((SOURCE / "examples/plugin/count_between.c", cls.mine), (folder / "rough.c", cls.rough),
                                (folder / "old.c", cls.old)):
            subprocess.run(["gcc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers",
                            "-shared", "-fPIC", "-I", SOURCE / "include", "-o", library, source], check=True)

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
