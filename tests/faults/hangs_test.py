"""A process that is stopped for longer than supervision.heartbeat.timeout has died, like any other; one that is stopped
for less, or computes, has not. Where it cannot be killed it learns that it is out when it wakes."""

from faults import *

TIMEOUT = 1.0
JOB = {"workers": 2, "mode": ["workload", 300, 8000, "exchange"], "optimizer": {"name": "adam", "learning_rate": 0.05}}
CHECKPOINT = {"every": "20 clocks", "keep": 2}


class Hangs(FaultTest):
    def yaml(self, job, **rest):
        return json.dumps({**json.loads(cluster_yaml({"job": job}, **rest)),
                           "supervision": {"heartbeat": {"timeout": f"{round(TIMEOUT * 1000)}ms"}}})

    def calm_hash(self):
        job = {**JOB, "mode": ["workload", 300, 0, "exchange"]}
        return self.hash_of(self.run_to_end(self.yaml(job)))

    def begin(self, job, **rest):
        run = self.launch(self.yaml(job, **rest))
        self.wait_for_a_clock(run)
        return run

    def pid_of(self, run, role, index=0):
        return next(p["pid"] for p in run.processes() if (p["role"], p["index"]) == (role, index))

    def hangs_of(self, run):
        return [json.loads(line) for line in run.events_text().splitlines() if '"process_hangs"' in line]

    def test_a_worker_that_hangs_is_replaced(self):
        expected = self.calm_hash()
        run = self.begin(JOB)
        begin = time.monotonic()
        os.kill(self.pid_of(run, "worker", 1), signal.SIGSTOP)
        wait_until(lambda: self.hangs_of(run), TIMEOUT * 5, "the hang to be seen")
        seen_after = time.monotonic() - begin
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        found = self.hangs_of(run)
        self.assertEqual(len(found), 1)
        name, milliseconds = re.fullmatch(r"(\S+) for (\d+) ms", found[0]["detail"]).groups()
        self.assertEqual(name, "worker-job-1")
        self.assertGreaterEqual(int(milliseconds), TIMEOUT * 1000)
        self.assertGreaterEqual(seen_after, TIMEOUT)
        self.assertIn("as it had hung for", run.output)
        self.assertEqual(self.count_events(run, "process_restarted"), 1)
        self.assert_nothing_left(run)
        print(f"seen after {seen_after:.2f} s")

    def test_a_restarted_worker_that_hangs_before_it_joins_is_replaced(self):
        expected = self.calm_hash()
        program = [str(WORKER)] + [str(word) for word in JOB["mode"]]
        hangs_once = 'if [ "$TIDEGATE_INCARNATION" = 2 ]; then exec sleep 1000; fi; exec "$@"'
        run = self.begin({**JOB, "command": ["sh", "-c", hangs_once, "sh", *program]}, start_timeout="5s")
        os.kill(self.pid_of(run, "worker", 1), signal.SIGKILL)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertEqual([event["detail"] for event in self.hangs_of(run)],
                         ["worker-job-1 has not joined within 5s (cluster.start_timeout)"])
        self.assertIn("as it had not joined within 5s (cluster.start_timeout); it is started again", run.output)
        self.assertEqual(self.count_events(run, "process_restarted"), 2)
        self.assert_nothing_left(run)

    def test_everything_goes_back_when_a_shard_hangs(self):
        expected = self.calm_hash()
        run = self.begin({**JOB, "checkpoint": CHECKPOINT})
        wait_until(lambda: self.count_events(run, "checkpoint"), 30, "a checkpoint")
        os.kill(self.pid_of(run, "shard", 1), signal.SIGSTOP)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertEqual(self.count_events(run, "going_back"), 1)
        self.assert_nothing_left(run)

    def test_a_short_stop_is_left_alone(self):
        run = self.begin(JOB)
        for role in ("worker", "shard", "coordinator"):
            victim = self.pid_of(run, role)
            os.kill(victim, signal.SIGSTOP)
            time.sleep(TIMEOUT / 3)  # a span of time is what is tried, with room for a machine that is busy
            os.kill(victim, signal.SIGCONT)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual((self.hangs_of(run), self.count_events(run, "process_restarted")), ([], 0))

    def test_who_computes_does_not_hang(self):
        run = self.run_to_end(self.yaml({"workers": 2, "mode": ["busy", 4]}))
        self.assertEqual(self.hangs_of(run), [])

    def test_a_launcher_that_was_stopped_judges_nobody(self):
        run = self.begin(JOB)
        everybody = [run.process.pid] + [p["pid"] for p in run.processes()]
        for pid in everybody:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(TIMEOUT * 2)  # a span of time is what is tried
        os.kill(everybody[0], signal.SIGCONT)
        time.sleep(TIMEOUT * 0.3)  # it looks while nobody beats
        for pid in everybody[1:]:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual((self.hangs_of(run), self.count_events(run, "process_restarted")), ([], 0))

    def out_of_reach(self, role):
        """YAML of a cluster where processes of a role are on a host of which the launcher reaches nothing when its agent
        stands still: it can end what has started the agent, but not the agent, and start no other one, which would end what
        is left there."""
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        once = (f'[ ! -e {folder}/begun ] || exit 1; touch {folder}/begun; '
                'exec 3<&0; (setsid "$@" <&3 3<&- &); exec 3<&- sleep 1000')
        job = {**JOB, "hosts": ["far" if role == "worker" else "near"], "checkpoint": CHECKPOINT}
        hosts = {"near": {"address": "127.0.0.1"},
                 "far": {"address": "127.0.0.1", "prefix": ["sh", "-c", once, "sh"]}}
        # Who is out looks for its coordinator for as long as a start may take.
        made = json.loads(self.yaml(job, hosts=hosts, shard_hosts=["far" if role == "shard" else "near"], transport="tcp",
                                    start_timeout="3s"))
        made["supervision"]["unreachable"] = "3s"
        return json.dumps(made)

    def test_out_of_reach_it_ends_when_it_wakes(self):
        expected = self.calm_hash()
        for role, said in (("worker", "another process has taken the place of this worker"),
                           ("shard", "no coordinator")):
            with self.subTest(role=role):
                run = self.launch(self.out_of_reach(role))
                wait_until(lambda: self.count_events(run, "checkpoint"), 30, "a checkpoint")
                hung = self.pid_of(run, role)
                agent = json.loads((run.run_dir / "agents/far.json").read_text())["pid"]
                for pid in (agent, hung):
                    self.addCleanup(lambda pid=pid: alive(pid) and os.kill(pid, signal.SIGKILL))
                    os.kill(pid, signal.SIGSTOP)
                again = "worker_resumes" if role == "worker" else "going_back"
                wait_until(lambda: again in run.events_text(), 20, "the run to go on without it")
                self.assertTrue(alive(hung))
                os.kill(hung, signal.SIGCONT)
                wait_until(lambda: not alive(hung), 10, "the end of who is out")
                log = "worker-job-0" if role == "worker" else "shard-0"
                self.assertIn(said, (run.run_dir / f"logs/{log}.log").read_text())
                os.kill(agent, signal.SIGCONT)
                wait_until(lambda: not alive(agent), 10, "the end of the agent, which has no launcher")
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)


main()
