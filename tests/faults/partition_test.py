"""A host that is cut off from the other for a while, and healed: nobody dies of it, and the bits are those of a run in
which nothing happened. Skipped where namespaces cannot be made (they need root)."""

import sys

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "e2e"))

from faults import *
from two_hosts import TwoHostsTest


class Partition(FaultTest, TwoHostsTest):
    def yaml(self, link, mode):
        named = {"a": {"address": link.address(0), "prefix": link.command(0, [])},
                 "b": {"address": link.address(1), "prefix": link.command(1, [])}}
        job = {"workers": 4, "optimizer": {"name": "adam", "learning_rate": 0.05}, "mode": mode,
               "aggregators": "per_host"}
        made = json.loads(cluster_yaml({"job": job}, hosts=named, shards=2))
        made["faults"] = {"at": {"clock 40": "partition:400ms b"}} if mode[2] else {}
        return json.dumps(made)

    def chaos(self, run, *words):
        return subprocess.run([BIN / "tidegate", "chaos", run.run_dir, *words], capture_output=True, text=True, timeout=60)

    def test_cut_off_and_healed(self):
        link = self.two_hosts()
        runner = link.command(0, [])
        expected = self.hash_of(self.run_to_end(self.yaml(link, ["workload", 300, 0, "exchange"]), runner=runner))
        run = self.launch(self.yaml(link, ["workload", 300, 8000, "exchange"]), runner=runner)
        for how in ("as its file asks", "by hand"):
            if how == "by hand":
                done = self.chaos(run, "partition", "b", "--for", "1500ms")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("heal b interface", done.stdout)
            else:
                wait_until(lambda: self.count_events(run, "fault") >= 2 or run.process.poll() is not None, 30, "healed")
            before = self.received(link)
            wait_until(lambda: self.received(link) > before + 100_000 or run.process.poll() is not None, 30,
                       "frames cross again")
        self.assertEqual(run.wait(90), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertEqual(self.count_events(run, "process_restarted"), 0, "nobody died of it")
        self.assertEqual(self.count_events(run, "fault"), 4)
        self.assert_nothing_left(run)

    def test_cut_off_for_longer_than_anybody_waits_and_a_death_after_it(self):
        self.cut_off_for_longer_than_anybody_waits("none")

    def test_an_aggregator_that_was_cut_off_learns_which_shards_have_moved(self):
        self.cut_off_for_longer_than_anybody_waits("per_host")

    def cut_off_for_longer_than_anybody_waits(self, aggregators):
        """Connections end meanwhile, and the processes of the host count as dead: others take their places, and those that
        come back end. What dies then is replaced as ever."""
        link = self.two_hosts()
        runner = link.command(0, [])

        def yaml(mode):
            made = json.loads(self.yaml(link, mode))
            made["cluster"]["replicas"] = 1
            made["jobs"]["job"]["aggregators"] = aggregators
            made["supervision"] = {"unreachable": "4s"}
            made["faults"] = {}
            return json.dumps(made)

        expected = self.hash_of(self.run_to_end(yaml(["workload", 1000, 0, "exchange"]), runner=runner))
        run = self.launch(yaml(["workload", 1000, 20000, "exchange"]), runner=runner)
        self.wait_for_a_clock(run)
        done = self.chaos(run, "partition", "b", "--for", "8s")
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until(lambda: self.count_events(run, "host_back") == 1 or run.process.poll() is not None, 30,
                   f"the host is back; {run.output}")
        # At first each shard had a replica, and each has lost the one of its two processes on that host.
        wait_until(lambda: self.count_events(run, "replica_in_sync") >= 4 or run.process.poll() is not None, 30,
                   f"shards have replicas again; {run.output} {run.events_text()}")
        self.kill(run, "shard-0")
        self.assertEqual(run.wait(120), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)

    def test_a_shard_that_moves_to_its_workers_host_while_they_push(self):
        """What they push lies in their own memory while that shard is elsewhere, and is read in place from then on."""
        link = self.two_hosts()
        runner = link.command(0, [])

        def yaml(mode):
            made = json.loads(self.yaml(link, mode))
            made["cluster"]["replicas"] = 1
            made["jobs"]["job"].update(workers=3, aggregators="none")
            made["supervision"] = {"heartbeat": {"timeout": "60s"}}
            made["faults"] = {}
            return json.dumps(made)

        expected = self.hash_of(self.run_to_end(yaml(["workload", 100, 0, "spans"]), runner=runner))
        run = self.launch(yaml(["workload", 100, 5000, "spans"]), runner=runner)
        processes = run.wait_for_training(1 + 4 + 3)
        far = next(p["pid"] for p in processes if p["role"] == "worker" and p["index"] == 2)
        os.kill(far, signal.SIGSTOP)
        time.sleep(0.5)  # a span in which the others push as far as they may, and wait
        self.kill(run, "shard-1")
        wait_until(lambda: self.count_events(run, "replica_promoted") == 1, 20, "another process serves the shard")
        wait_until(lambda: all("shard 1 has moved" in (run.run_dir / f"logs/worker-job-{rank}.log").read_text()
                               for rank in (0, 1)), 20, "the workers of the other host know")
        os.kill(far, signal.SIGCONT)
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assert_nothing_left(run)

    def test_who_has_lost_its_coordinator_for_good_ends_at_once(self):
        """A worker that has given the coordinator up does not wait for it again to say so: it is gone before its host is back,
        and the next one goes on with the job."""
        link = self.two_hosts()
        runner = link.command(0, [])

        def yaml(mode):
            made = json.loads(self.yaml(link, mode))
            made["cluster"].update(replicas=1, start_timeout="6s")
            made["jobs"]["job"].update(workers=3, aggregators="none")
            made["supervision"] = {"unreachable": "2s", "worker": {"max_restarts": 100}, "shard": {"max_restarts": 100}}
            made["faults"] = {}
            return json.dumps(made)

        expected = self.hash_of(self.run_to_end(yaml(["workload", 300, 0, "exchange"]), runner=runner))
        run = self.launch(yaml(["workload", 300, 10000, "exchange"]), runner=runner)
        self.wait_for_a_clock(run)
        done = self.chaos(run, "partition", "b", "--for", "10s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run.wait(120), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        events = [json.loads(line) for line in run.events_text().splitlines()]
        ended = next(n for n, event in enumerate(events)
                     if event["kind"] == "process_ended" and event["detail"].startswith("worker 2 "))
        healed = next(n for n, event in enumerate(events) if event["kind"] == "fault" and "heal" in event["detail"])
        self.assertLess(ended, healed, run.events_text())
        self.assert_nothing_left(run)

    def test_a_process_that_starts_while_its_network_is_away(self):
        """UCX passes over an interface that is down when it starts: the new process waits for it."""
        link = self.two_hosts()
        runner = link.command(0, [])
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        (folder / "go_on").touch()
        # A worker says that it is there, and waits for leave to begin.
        program = f'touch {folder}/began; while [ ! -e {folder}/go_on ]; do sleep 0.05; done; exec "$@"'

        def yaml(mode):
            made = json.loads(self.yaml(link, mode))
            job = made["jobs"]["job"]
            job.update(workers=3, aggregators="none", command=["sh", "-c", program, "sh", *job["command"]])
            made["faults"] = {}
            return json.dumps(made)

        expected = self.hash_of(self.run_to_end(yaml(["workload", 300, 0, "exchange"]), runner=runner))
        run = self.launch(yaml(["workload", 300, 10000, "exchange"]), runner=runner)
        self.wait_for_a_clock(run)
        for name in ("began", "go_on"):
            (folder / name).unlink()
        self.kill(run, "worker-2")
        wait_until((folder / "began").exists, 20, "another worker starts")
        cut = subprocess.Popen([BIN / "tidegate", "chaos", run.run_dir, "partition", "b", "--for", "3s"],
                               stdout=subprocess.DEVNULL)
        self.addCleanup(cut.wait)
        wait_until(lambda: self.count_events(run, "fault") == 1, 20, "the network is away")
        (folder / "go_on").touch()
        self.assertEqual(run.wait(120), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        self.assertEqual(self.count_events(run, "process_restarted"), 1, run.events_text())
        self.assert_nothing_left(run)

    def test_what_cannot_be_cut_off_is_told(self):
        run = self.launch(cluster_yaml({"job": {"workers": 1, "mode": ["forever"]}}))
        run.wait_for_training(3 + 1)
        done = self.chaos(run, "partition", "b")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no host b with an address; there are: none (cluster.hosts)", done.stderr)
        done = self.chaos(run, "partition")
        self.assertEqual(done.returncode, 2)
        self.assertIn("allowed: a name of cluster.hosts", done.stderr)
        run.process.terminate()
        run.wait(20)


main()
