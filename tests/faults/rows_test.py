"""Tables of rows by id: the bits are the same however the rows are spread and whoever dies, moves or goes back."""

import hashlib

from row_jobs import *


class Rows(RowsTest):
    def expected(self, **rest):
        return self.hash_of(self.run_to_end(self.yaml(0, **rest)))

    def scale(self, run, words):
        done = subprocess.run([str(BIN / "tidegate"), "scale", str(run.run_dir), words], capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr + run.output)

    def test_same_bits_however_rows_are_spread(self):
        expected = self.expected(clocks=100)
        for table, cluster in (({"parts": 7}, {"shards": 1}),
                               ({"parts": 200}, {"shards": 3, "transport": "tcp"}),
                               ({}, {"shards": {"count": 2, "device": "emulated:3"}}),
                               ({}, {"shards": 2, "replicas": 1})):
            with self.subTest(**table, **cluster):
                self.assertEqual(self.expected(clocks=100, table=table, **cluster), expected)

    def test_same_bits_whoever_is_killed(self):
        on_device = {"shards": {"count": 2, "device": "emulated:3", "device_memory": "64KiB"}}
        for seed, (optimizer, cluster) in enumerate((("adam", {}), ("adagrad", {"transport": "tcp"}),
                                                     ("adam", on_device))):
            with self.subTest(optimizer=optimizer, **cluster):
                job = {"optimizer": {"name": optimizer, "learning_rate": 0.05}}
                self.assert_same_after_kills(self.yaml(16000, job=job, replicas=1, **cluster),
                                             self.expected(job=job), KILLED, seed, 0.02)

    def test_same_bits_when_clipped_by_the_norm(self):
        job = {"gradients": {"clip_norm": 0.5}}
        expected = self.expected(job=job)
        self.assertNotEqual(expected, self.expected(), "some norms are larger")
        self.assertEqual(self.expected(job=job, shards=3, transport="tcp"), expected)
        self.assert_same_after_kills(self.yaml(12000, job=job, replicas=1), expected, KILLED, 3, 0.02)

    def test_same_bits_after_parts_have_moved(self):
        expected = self.expected(clocks=600)
        run = self.launch(self.yaml(6000, clocks=600, shards=2, max_shards=4, replicas=1))
        self.wait_for_a_clock(run)
        for shards, moved in ((4, 2), (1, 5), (3, 7)):
            self.scale(run, f"shards={shards}")
            wait_until(lambda: self.count_events(run, "shard_moved") >= moved, 30, f"{moved} have moved; {run.run_dir}")
        self.assertEqual(run.process.poll(), None, "the job goes on beside all this")
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)

    def test_same_bits_from_a_checkpoint(self):
        expected = self.expected()
        run = self.launch(self.yaml(12000, job={"checkpoint": {"every": "20 clocks", "keep": 2}}, shards=2))
        for kills in range(2):
            before = self.count_events(run, "checkpoint")
            wait_until(lambda: self.count_events(run, "checkpoint") > before, 40, f"another checkpoint; {run.output}")
            self.kill(run, f"shard-{kills}")
            wait_until(lambda: self.count_events(run, "going_back") > kills, 40, f"the way back; {run.output}")
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)

    def test_same_bits_while_rows_come_and_go(self):
        table = {"admit": {"count": 2}, "evict": {"unseen": "30 clocks", "rows": 1600, "by": "lfu"},
                 "segments": [{"columns": 2, "optimizer": "ftrl", "init": {"constant": 0}}, {"columns": 6}]}
        job = {"checkpoint": {"every": "20 clocks", "keep": 2, "full_every": 4}}
        expected = self.expected(table=table)
        self.assertNotEqual(expected, self.expected())
        self.assertEqual(self.expected(table=table, shards=3, replicas=1), expected)
        self.assert_same_after_kills(self.yaml(16000, table=table, replicas=1), expected, KILLED, 5, 0.02)
        run = self.launch(self.yaml(12000, table=table, job=job, shards=2))
        wait_until(lambda: self.count_events(run, "checkpoint") > 1, 40, f"a checkpoint; {run.output}")
        self.kill(run, "shard-1")
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.count_events(run, "going_back"), 1)
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)

    def export(self, run, *arguments):
        """Returns the header of what is exported, and its tensors in bytes."""
        output = run.temporary / "model.safetensors"
        done = subprocess.run([str(BIN / "tidegate"), "export", str(run.run_dir), "--output", str(output), *arguments],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        data = output.read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + size])
        output.unlink()
        return header, {name: data[8 + size:][about["data_offsets"][0]:about["data_offsets"][1]]
                        for name, about in header.items() if name != "__metadata__"}

    def test_checkpoints_of_what_has_changed_are_as_good_as_whole_ones(self):
        table = {"admit": {"count": 2}, "evict": {"unseen": "30 clocks", "rows": 1600}}
        every = {"every": "10 clocks", "keep": 2}

        def run_with(full_every):
            return self.run_to_end(self.yaml(3000, clocks=100, table=table, job={"checkpoint": {**every,
                                             "full_every": full_every}}, shards=2))

        whole, changes = run_with(1), run_with(8)
        listed = subprocess.run([str(BIN / "tidegate"), "export", str(changes.run_dir), "--list"], capture_output=True,
                                text=True, timeout=60)
        self.assertRegex(listed.stdout, r"e0001-0\d+ +\d+ +2 +2 +\S+ \w+ +e0001-0\d+ +whole", listed.stderr)
        (_, all_rows), (header, same) = self.export(whole), self.export(changes)
        self.assertEqual(all_rows, same)
        self.assertEqual(header["__metadata__"]["tidegate.clock"], "100")
        since, parts = self.export(changes, "--since", "90")
        self.assertEqual(since["__metadata__"]["tidegate.since"], "90")
        ids = lambda data: [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data), 8)]
        changed, unchanged = ids(parts["rows/ids"]), ids(parts["rows/unchanged"])
        self.assertTrue(changed and unchanged)
        self.assertEqual(sorted(changed + unchanged), sorted(ids(all_rows["rows/ids"])))
        width = 8 * 4
        values = {id: all_rows["rows/values"][i * width:(i + 1) * width] for i, id in enumerate(ids(all_rows["rows/ids"]))}
        self.assertEqual(b"".join(values[id] for id in changed), parts["rows/values"])

    def test_a_checkpoint_has_the_rows_that_the_job_ends_with(self):
        run = self.run_to_end(self.yaml(0, clocks=60, job={"checkpoint": {"every": "20 clocks", "keep": 2}}))
        header, tensors = self.export(run)
        self.assertEqual(header["__metadata__"]["tidegate.clock"], "60")

        def bytes_of(name, kind, shape):
            self.assertEqual((header[name]["dtype"], header[name]["shape"][1:]), (kind, shape))
            return tensors[name]

        ids = bytes_of("rows/ids", "U64", [])
        values = bytes_of("rows/values", "F32", [8])
        rows = sorted((int.from_bytes(ids[8 * i:8 * i + 8], "little"), values[32 * i:32 * i + 32])
                      for i in range(len(ids) // 8))
        digest = hashlib.sha256()
        for number, row in rows:
            digest.update(number.to_bytes(8, "little") + row)
        digest.update(bytes_of("table-0", "F32", [300]))
        self.assertEqual(digest.hexdigest(), self.hash_of(run), "rows by id, then the dense table")

    def test_a_table_that_is_full_says_so(self):
        run = self.launch(self.yaml(0, table={"capacity": 100, "parts": 2}))
        self.assertNotEqual(run.wait(60), 0)
        self.assertIn("no room for more rows; give the table a larger capacity", run.output)

    def test_what_is_wrong_in_the_file_is_told_first(self):
        for table, job, problem in (({"dim": 0}, {}, "dim"), ({"parts": 5000}, {}, "parts"),
                                    ({"shape": [3]}, {}, "shape: does not belong to a table of rows"),
                                    ({}, {"optimizer": {"name": "momentum"}}, "does not step rows"),
                                    ({}, {"aggregators": "per_host"}, "aggregators do not sum rows yet")):
            with self.subTest(problem=problem):
                run = self.launch(self.yaml(0, job=job, table=table))
                self.assertNotEqual(run.wait(20), 0)
                self.assertIn(problem, run.output)


main()
