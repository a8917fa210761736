"""Promise 5 and the launcher's word: whatever ends a run, it ends soon, says why, and leaves nothing."""

import itertools
import json

from cluster import *

FOREVER = {"job": {"workers": 2, "mode": ["forever"], "on_worker_loss": "fail"}}
PROCESSES = 5  # coordinator, two shards, two workers


def never_restarted(yaml):
    """The coordinator does not come back either."""
    return json.dumps({**json.loads(yaml), "supervision": {"coordinator": {"max_restarts": 0}}})


class OrderlyEnd(ClusterTest):
    def setUp(self):
        self.before = segments()

    def assert_nothing_left(self, run, processes):
        """Within 5 s: no process, no segment, no open port, no temporary file, nothing beside the run
        folder."""
        started = [{"pid": pid} for pid in run.started_pids()]
        self.assertGreaterEqual(len(started), 3)
        self.assert_all_gone(processes + started, 5)
        # Whoever was not killed on purpose ends by itself or by the launcher's word, never by a bug.
        for crash in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE"):
            self.assertNotIn(crash, run.events_text())
        left = lambda: segments() - self.before
        wait_until(lambda: not left(), 5, f"no segment left; there is {left()}")
        port = run.control_port()
        wait_until(lambda: not listening(port), 5, f"nobody listens on {port}")
        self.assertEqual(list(run.temporary.iterdir()), [])
        self.assertEqual({path.name for path in run.folder.iterdir()}, {"cluster.yaml", "output", "pulls", "run", "tmp"})

    def test_done(self):
        run = self.run_to_end(cluster_yaml({"job": {"workers": 2, "mode": ["workload", 5]}}))
        self.assert_nothing_left(run, [])
        self.assertEqual(run.result()["exit_code"], 0)

    def test_done_without_heartbeats(self):
        # Then no look at them wakes the launcher, which has to begin and to end by itself.
        yaml = json.loads(cluster_yaml({"job": {"workers": 2, "mode": ["workload", 5]}}, start_timeout="5s"))
        run = self.run_to_end(json.dumps({**yaml, "supervision": {"heartbeat": {"timeout": "off"}}}))
        self.assert_nothing_left(run, [])
        self.assertEqual(run.processes(), [])

    def test_done_where_the_parent_ignores_children_and_has_closed_the_standard_descriptors(self):
        careless = ("bash", "-c", """trap '' CHLD; exec "$@" <&- >&- 2>&-""", "careless")
        run = self.run_to_end(cluster_yaml({"job": {"workers": 2, "mode": ["workload", 5]}}), runner=careless, seconds=20)
        self.assert_nothing_left(run, [])
        self.assertEqual([json.loads(line)["kind"] for line in run.events_text().splitlines()][-1], "run_ended")
        self.assertEqual(run.output, "")

    def test_a_worker_that_creates_many_tables(self):
        run = self.run_to_end(cluster_yaml({"job": {"workers": 2, "mode": ["tables", 500]}}))
        self.assertEqual(run.events_text().count('"table_open"'), 500)
        self.assert_nothing_left(run, [])

    def test_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                run = self.launch(cluster_yaml(FOREVER))
                processes = run.wait_for_training(PROCESSES)
                begin = time.monotonic()
                run.process.send_signal(number)
                self.assertEqual(run.wait(10), 1, run.output)
                self.assertLess(time.monotonic() - begin, 2.0)
                self.assertEqual(run.result()["jobs"][0]["state"], "interrupted")
                self.assertNotIn("--resume", run.output, "there is no checkpoint")
                self.assert_nothing_left(run, processes)

    def test_a_death_is_named_and_ends_the_run(self):
        # The coordinator more often: its death meets the others in the middle of pushes and pulls.
        victims = ("worker", "shard", "coordinator", "coordinator")
        for role, transport in itertools.product(victims, ("auto", "tcp")):
            with self.subTest(role=role, transport=transport):
                run = self.launch(never_restarted(cluster_yaml(FOREVER, transport=transport)))
                processes = run.wait_for_training(PROCESSES)
                victim = next(p for p in processes if p["role"] == role)
                os.kill(victim["pid"], signal.SIGKILL)
                self.assertEqual(run.wait(10), 3, run.output)
                self.assertIn(str(victim["pid"]), run.output)
                self.assertIn("SIGKILL", run.output)
                self.assertIn(role, run.output)
                self.assert_nothing_left(run, processes)

    def test_a_hung_process_does_not_hang_the_end(self):
        for role in ("worker", "shard", "coordinator"):
            with self.subTest(role=role):
                run = self.launch(cluster_yaml(FOREVER))
                processes = run.wait_for_training(PROCESSES)
                os.kill(next(p["pid"] for p in processes if p["role"] == role), signal.SIGSTOP)
                begin = time.monotonic()
                run.process.send_signal(signal.SIGTERM)
                self.assertEqual(run.wait(10), 1, run.output)
                self.assertLess(time.monotonic() - begin, 2.0 + 0.5)
                self.assert_nothing_left(run, processes)

    def test_a_worker_that_leaves_without_a_word(self):
        run = self.run_to_end(cluster_yaml({"job": {"workers": 2, "mode": ["exit", 7], "on_worker_loss": "fail"}}), expect=3)
        self.assertIn("7", run.output)
        self.assert_nothing_left(run, [])

    def test_a_worker_that_leaves_early_but_politely(self):
        run = self.run_to_end(cluster_yaml({"job": {"workers": 2, "mode": ["leave"]}}), expect=1, seconds=30)
        self.assertIn("finish()", run.output)
        self.assert_nothing_left(run, [])

    def test_workers_that_linger_after_their_job_are_ended(self):
        run = self.run_to_end(cluster_yaml({"job": {"workers": 2, "mode": ["lingers", 3]}}, start_timeout="5s"))
        self.assertRegex(run.events_text(), r'"worker_lingers","detail":"worker-job-0 has not left within 5s')
        self.assertRegex(run.events_text(), r'"process_killed","detail":"worker-job-1"')
        self.assertEqual(run.result()["jobs"][0]["state"], "done")
        self.assert_nothing_left(run, [])

    def test_an_interrupt_after_all_jobs_leaves_them_done(self):
        run = self.launch(cluster_yaml({"job": {"workers": 2, "mode": ["lingers", 3]}}, start_timeout="60s"))
        wait_until(lambda: "job_done" in run.events_text(), 30, "the end of the job")
        run.process.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(10), 0, run.output)
        self.assertEqual((run.result()["exit_code"], run.result()["jobs"][0]["state"]), (0, "done"))
        self.assert_nothing_left(run, [])

    def test_killed_launcher_takes_its_children_along(self):
        run = self.launch(cluster_yaml(FOREVER))
        processes = run.wait_for_training(PROCESSES)
        run.process.kill()
        run.process.wait()
        self.assert_nothing_left(run, processes)
        # The list stays, and says of what time it is.
        self.assertEqual([one["pid"] for one in run.listed()], [one["pid"] for one in processes])
        self.assertEqual(run.processes(), [])

    def test_events_tell_what_happened(self):
        run = self.run_to_end(cluster_yaml({"job": {"workers": 2, "mode": ["workload", 5]}}))
        events = [json.loads(line) for line in run.events_text().splitlines()]
        times = [event["unix_ns"] for event in events]
        self.assertEqual(times, sorted(times))
        self.assertTrue(all(event.get("happened_ns", 0) < event["unix_ns"] for event in events))
        what = [event["kind"] for event in events]
        for expected in ("process_started", "shard_joined", "worker_joined", "table_open", "job_running",
                         "job_done", "process_ended"):
            self.assertIn(expected, what)
        self.assertNotIn("worker_lost", what)
        self.assertNotIn("shard_lost", what)


main()
