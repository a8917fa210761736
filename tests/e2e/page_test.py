"""The page of a run in a browser: while it goes on, behind a key, after it, and when nobody answers any more."""

import json
import re
import tempfile
import urllib.error
import urllib.request

from browser import Browser
from cluster import *

SLOW = 1
PAUSE_US = 4000
KEY = "a-key-of-many-characters"
# By which pictures may be kept: a folder for them.
PICTURES = os.environ.get("TIDEGATE_PICTURES")
SCREENS = [(1600, "light"), (1600, "dark"), (400, "light"), (400, "dark")]
DATA_OF_CHARTS = """(() => Object.fromEntries([...document.querySelectorAll("canvas")].map((canvas) => {
  const chart = Chart.getChart(canvas);
  return [canvas.id, chart.data.datasets.map((set) => set.data.filter((at) => at !== null && (at.y ?? at) !== null).length)];
})))()"""
# A chart that has drawn nothing is transparent everywhere.
DRAWN = """[...document.querySelectorAll("canvas")].filter((canvas) => {
  if (canvas.width === 0) return false;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
  copy.drawImage(canvas, 0, 0);
  return copy.getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value !== 0);
}).length"""


class View:
    """`tidegate view` of a run folder, until it is left."""

    def __init__(self, run_dir, *words):
        self.process = subprocess.Popen([BIN / "tidegate", "view", run_dir, *words], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.url = re.match(r"(http://127\.0\.0\.1:\d+/) shows .* until Ctrl-C", line).group(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


class Page(ClusterTest):
    def setUp(self):
        self.browser = self.enterContext(Browser())

    def yaml(self, clocks=100000, **monitor):
        text = json.loads(cluster_yaml({"job": {"workers": 3, "mode": ["workload", clocks, PAUSE_US, "exchange"]}}))
        text["faults"] = {"slow": {f"worker-job-{SLOW}": {"factor": 10}}}
        text["monitor"] = {"address": "127.0.0.1:0", **monitor}
        return json.dumps(text)

    def address(self, run):
        def known():
            found = re.search(r'"monitor","detail":"(http://[^"]+)"', run.events_text())
            return found and found.group(1) + "/"
        return wait_until(known, 30, "an address")

    def assert_no_complaints(self):
        self.browser.value("1")  # what has been said until now has come
        self.assertEqual(self.browser.complaints, [])

    def look_over(self, name, screens=SCREENS):
        """The page on each screen; returns the sentences that it says."""
        browser = self.browser
        for width, scheme in screens:
            with self.subTest(page=name, width=width, scheme=scheme):
                browser.look_at(width, scheme)
                browser.wait_for_run()
                browser.wait_for(f"({DRAWN}) === 7")
                browser.wait_for(f"document.documentElement.scrollWidth <= {width}")  # charts follow a frame later
                ground = browser.value("getComputedStyle(document.body).backgroundColor")
                self.assertEqual(int(re.search(r"\d+", ground).group()) > 128, scheme == "light", ground)
                if PICTURES:
                    browser.write_picture(f"{PICTURES}/{name}-{width}-{scheme}.png")
        for chart, counts in browser.value(DATA_OF_CHARTS).items():
            if chart != "metric-chart":
                self.assertGreater(min(counts, default=0), 0, chart)
        self.assert_no_complaints()
        return browser.value('document.getElementById("reasons").textContent')

    def test_a_run_that_goes_on_and_after_it(self):
        run = self.launch(self.yaml())
        metrics = run.run_dir / "metrics.jsonl"
        wait_until(lambda: metrics.exists() and len(metrics.read_text().splitlines()) >= 4, 60, "four lines")
        browser = self.browser
        browser.look_at(1600, "light")
        browser.open(self.address(run))
        browser.wait_for(f'document.getElementById("reasons").textContent.includes("worker {SLOW} holds the job up")')
        self.assertIn(f"worker {SLOW} holds the job up", self.look_over("live"))
        self.assertEqual(browser.value('document.getElementById("state").textContent'), "running")
        self.assertEqual(browser.value('document.querySelectorAll("#topology .node.late").length'), 1)
        self.assertEqual(browser.value('document.querySelectorAll("#workers tr.late th").length'), 1)
        shards = [row.split() for row in browser.value(
            '[...document.querySelectorAll("#shards tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent).join(" ")).join("\\n")'
            ).splitlines()]
        self.assertEqual([row[0] for row in shards], ["0", "1"])
        self.assertTrue(any(row[-2] == "MiB" for row in shards), f"their memory: {shards}")
        self.assertTrue(any("in place" in " ".join(row) for row in shards), f"what they send: {shards}")
        self.assertEqual(browser.value('document.getElementById("process").value'), f"worker-job-{SLOW}", "its log is shown")
        self.assertRegex(browser.value('document.getElementById("staleness-note").textContent'), r"of [0-9,]+ answers for a chunk each")
        self.look_at_a_death(run)
        self.look_at_logs(run)
        self.look_at_a_launcher_that_is_stopped(run)
        # It asks as long as it is looked at, and says so when nobody answers.
        asked = len(browser.requested)
        browser.wait_for('document.getElementById("link").textContent === "live"')
        wait_until(lambda: browser.value("1") and len(browser.requested) > asked, 20, "more questions")
        self.assertEqual(browser.complaints, [])
        self.assertEqual(subprocess.run([BIN / "tidegate", "stop", run.run_dir], capture_output=True, timeout=60).returncode, 0)
        run.wait(60)
        browser.wait_for('document.getElementById("link").textContent.includes("no answer since")')
        self.assertFalse(browser.value('document.getElementById("retry").hidden'))
        browser.leave()
        browser.complaints.clear()  # of connections that nobody takes
        self.look_at_its_folder(run)

    def look_at_a_death(self, run):
        """Kills a worker: its death and its return are marks on the axes of time."""
        victim = next(p for p in run.processes() if p["role"] == "worker" and p["index"] == 2)
        os.kill(victim["pid"], signal.SIGKILL)
        self.browser.wait_for('document.querySelectorAll("#events tr.bad").length > 0 && document.querySelectorAll("#events tr.good").length > 0')
        self.browser.wait_for('Chart.getChart("speed-chart").marks.some((mark) => mark.subject === "process_died")')
        self.browser.value('document.getElementById("marks-only").click()')
        self.assertEqual(self.browser.value('document.querySelectorAll("#events tr:not(.bad):not(.good):not(.fault)").length'), 0)

    def look_at_logs(self, run):
        choose = """(() => { const select = document.getElementById("process"); select.value = "coordinator-0";
          select.dispatchEvent(new Event("change")); })()"""
        self.browser.value(choose)
        self.browser.wait_for('document.getElementById("log").textContent.includes("control plane on")')

    def look_at_a_launcher_that_is_stopped(self, run):
        with View(run.run_dir) as view:
            self.browser.open(view.url)
            self.browser.wait_for('document.getElementById("state")?.textContent === "running"')
            run.process.send_signal(signal.SIGSTOP)
            try:
                self.browser.wait_for('document.getElementById("problem").textContent.startsWith("the launcher has not answered for")')
            finally:
                run.process.send_signal(signal.SIGCONT)
            self.browser.wait_for('document.getElementById("problem").hidden')
            self.browser.leave()
        self.browser.open(self.address(run))
        self.browser.wait_for_run()
        self.assert_no_complaints()

    def look_at_its_folder(self, run):
        """The same page, of a run that has ended, and of one whose files are not as they should be."""
        with View(run.run_dir) as view:
            self.browser.look_at(1600, "light")
            self.browser.open(view.url)
            self.assertIn(f"worker {SLOW} holds the job up", self.look_over("ended"))
            self.assertRegex(self.browser.value('document.getElementById("state").textContent'), "ended, exit code")
            self.assertGreater(self.browser.value('document.querySelectorAll("#events tr").length'), 10)
            self.browser.leave()
            self.assertEqual(view.end(), 0)
        (run.run_dir / "result.json").unlink()
        with open(run.run_dir / "metrics.jsonl", "a", encoding="utf-8") as metrics:
            metrics.write('{"version":1,"job":"job","workers":[{"ra\n{"version":7,"job":"job","workers":[],"seconds":1}\n')
        with open(run.run_dir / "events.jsonl", "a", encoding="utf-8") as events:
            events.write('{"unix_ns":1900000000000000000,"kind":"fault","detail":"<img src=x onerror=alert(1)>"}\nnothing\n')
        with View(run.run_dir) as view:
            self.browser.open(view.url)
            self.browser.wait_for_run()
            self.browser.wait_for('document.getElementById("state").textContent === "lost"')
            self.assertIn("lines of version 7", self.browser.value('document.getElementById("problem").textContent'))
            self.assertIn("<img src=x", self.browser.value('document.getElementById("events").textContent'))
            self.assertEqual(self.browser.value('document.querySelectorAll("#events img").length'), 0)
            self.assertGreater(min(self.browser.value(DATA_OF_CHARTS)["speed-chart"]), 3)
            self.assert_no_complaints()

    def test_a_key(self):
        key = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "key"
        key.write_text(KEY + "\n")
        key.chmod(0o600)
        run = self.launch(self.yaml(key_file=str(key)))
        url = self.address(run)
        browser = self.browser
        browser.look_at(400, "dark")
        browser.open(url)
        browser.wait_for('document.activeElement?.id === "key"')
        for given, expected in (("not-this-one-at-all", 'document.getElementById("key-problem").textContent === "This is not its key."'),
                                (KEY, 'document.body.dataset.ready === "true" && document.getElementById("key-form").hidden')):
            browser.value(f'document.getElementById("key").value = "{given}"; document.querySelector("#key-form button").click()')
            browser.wait_for(expected)
        self.assertEqual([request["url"] for request in browser.requested if KEY in request["url"]], [])
        self.assertEqual(browser.value("Object.keys(localStorage).length"), 0)
        for path in ("status.json", "history.json", "events.json", "log.json?process=shard-0", "reasons.json", "metrics"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(url + path, timeout=10)
            self.assertEqual(refused.exception.code, 401, path)

    def test_what_is_no_run_folder(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for words, code, said in (([folder], 1, "is no run folder: it has no cluster.yaml or no events.jsonl"),
                                  ([folder, "--address", "0.0.0.0:80"], 2, "allowed: an address of loopback")):
            done = subprocess.run([BIN / "tidegate", "view", *words], capture_output=True, text=True, timeout=30)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    main()
