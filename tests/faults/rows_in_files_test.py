"""Tables of rows larger than their memory: the bits are those of tables that fit, whoever is killed; nothing is left; and a
disk that is full, or none, is said."""

from row_jobs import *

# 5,000 rows of 128 bytes with their state, ten times what stays of them on one shard, and 2.5 times on each of two.
SMALL = {"parts": 1, "memory": "64KiB"}
HALVES = {"parts": 2, "memory": "128KiB"}
# So little memory is a disk's work at each row, and others may use it, too.
SECONDS = 120


class RowsInFiles(RowsTest):
    def expected(self, **rest):
        return self.hash_of(self.run_to_end(self.yaml(0, **rest), seconds=SECONDS))

    def on_disk(self):
        """Skipped where the folders of runs lie in memory."""
        kind = subprocess.run(["stat", "--file-system", "--format=%T", tempfile.gettempdir()], capture_output=True,
                              text=True).stdout.strip()
        if kind in ("tmpfs", "ramfs"):
            self.skipTest(f"{tempfile.gettempdir()} lies in memory")

    def files_of(self, run):
        """Sizes of the files without names that its shards have open, of which none can be found in a folder."""
        sizes = []
        for process in run.processes():
            if process["role"] not in ("shard", "replica"):
                continue
            for link in pathlib.Path(f"/proc/{process['pid']}/fd").glob("*"):
                try:
                    if os.readlink(link).endswith(" (deleted)") and str(run.run_dir) in os.readlink(link):
                        sizes.append(link.stat().st_size)
                except OSError:
                    continue  # it has been closed
        return sizes

    def test_same_bits_as_in_memory_whoever_is_killed(self):
        self.on_disk()
        expected = self.expected(clocks=40)
        self.assertEqual(self.expected(clocks=40, table=SMALL, shards=1), expected)
        self.assertEqual(self.expected(clocks=40, table=SMALL, shards=1, transport="tcp"), expected, "read by frames")
        expected = self.expected()
        run = self.launch(self.yaml(16000, table=HALVES, replicas=1))
        self.wait_for_a_clock(run)
        self.assertEqual(len(self.files_of(run)), 4, "a primary and a replica have each part")
        self.kill_each(run, KILLED, 3, 0.02)
        self.assertEqual(run.wait(SECONDS), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)

    def test_same_bits_from_checkpoints_and_after_moves(self):
        self.on_disk()
        table = {"parts": 3, "admit": {"count": 2}, "evict": {"unseen": "30 clocks", "rows": 2400, "by": "l2"}}
        small = {**table, "memory": "192KiB"}
        every = {"checkpoint": {"every": "20 clocks", "keep": 2, "full_every": 3}}
        expected = self.expected(table=table)
        run = self.launch(self.yaml(12000, table=small, job=every, shards=2))
        for kills in range(2):
            before = self.count_events(run, "checkpoint")
            wait_until(lambda: self.count_events(run, "checkpoint") > before, 40, f"another checkpoint; {run.output}")
            self.kill(run, f"shard-{kills}")
            wait_until(lambda: self.count_events(run, "going_back") > kills, 40, f"the way back; {run.output}")
        self.assertEqual(run.wait(SECONDS), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)
        run = self.launch(self.yaml(12000, clocks=300, table=small, shards=1, max_shards=2, replicas=1))
        self.wait_for_a_clock(run)
        for shards, moved in ((2, 1), (1, 2)):
            done = subprocess.run([str(BIN / "tidegate"), "scale", str(run.run_dir), f"shards={shards}"],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr + run.output)
            wait_until(lambda: self.count_events(run, "shard_moved") >= moved, 30, f"{moved} have moved; {run.run_dir}")
        self.assertEqual(run.wait(SECONDS), 0, run.output)
        self.assertEqual(self.hash_of(run), self.expected(clocks=300, table=table))
        self.assert_nothing_left(run)

    def small_disk(self, size):
        """A folder of so many bytes on a file system of a disk."""
        self.on_disk()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tidegate-disk-"))
        image = folder.with_suffix(".image")
        self.addCleanup(os.rmdir, folder)
        image.write_bytes(b"")
        self.addCleanup(image.unlink)
        os.truncate(image, size)
        for command in (["mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", str(image)],
                        ["mount", "-o", "loop", str(image), str(folder)]):
            try:
                done = subprocess.run(command, capture_output=True, text=True)
            except FileNotFoundError:
                self.skipTest(f"no {command[0]}")
            if done.returncode != 0:
                self.skipTest(done.stderr)
        self.addCleanup(subprocess.run, ["umount", str(folder)], check=True)
        return folder

    def test_a_full_disk_fails_the_job_and_says_what_to_do(self):
        disk = self.small_disk(2 << 20)
        with open(disk / "filler", "wb", buffering=0) as filler:
            left = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
            filler.write(bytes(max(left - (300 << 10), 0)))
        run = self.launch(self.yaml(0, table=SMALL, shards=1, rows_dir=str(disk)))
        self.assertNotEqual(run.wait(SECONDS), 0)
        self.assertIn("its memory a larger disk", run.output)
        logs = "".join(path.read_text() for path in run.run_dir.rglob("shard*.log"))
        self.assertRegex(logs, f"table rows: no [0-9]+ bytes for more rows in {disk}.*No space left on device.*"
                               "cluster.rows_dir")
        self.assertNotIn("SIGBUS", run.output)
        self.assert_all_gone([{"pid": pid} for pid in run.started_pids()], 5)
        self.assertEqual([path.name for path in disk.iterdir() if path.name != "lost+found"], ["filler"])

    def test_a_folder_that_lies_in_memory_is_refused(self):
        if not pathlib.Path("/dev/shm").is_dir():
            self.skipTest("no /dev/shm")
        run = self.launch(self.yaml(0, table=SMALL, shards=1, rows_dir="/dev/shm"))
        self.assertNotEqual(run.wait(SECONDS), 0)
        self.assertIn("the folder /dev/shm lies in memory (tmpfs), where nothing would be won; allowed: a folder on a disk",
                      run.output)


main()
