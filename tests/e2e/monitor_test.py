"""`monitor` answers a real Prometheus, promtool and strangers; `tidegate top` shows a run on a terminal of any size."""

import fcntl
import json
import os
import pty
import signal
import socket
import struct
import tempfile
import termios
import threading
import urllib.error
import urllib.parse
import urllib.request

from cluster import *

LONG = ["workload", 100000, 2000, "exchange"]
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def tidegate(*words, **options):
    return subprocess.run([BIN / "tidegate", *map(str, words)], capture_output=True, text=True, timeout=60, **options)


def get(url, **headers):
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Monitor(ClusterTest):
    def start(self, mode=LONG, **monitor):
        text = json.loads(cluster_yaml({"job": {"workers": 2, "mode": mode}}))
        text["monitor"] = {"address": "127.0.0.1:0", **monitor}
        run = self.launch(json.dumps(text))
        self.address = wait_until(lambda: self.status(run).get("monitor"), 30, "an address")
        wait_until(lambda: self.status(run)["jobs"] and self.status(run)["jobs"][0]["clock_slowest"] > 0, 30, "a clock")
        return run

    def status(self, run):
        done = tidegate("status", run.run_dir, "--json")
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def cancel(self, run):
        self.assertEqual(tidegate("cancel", run.run_dir, "job").returncode, 0)
        self.assertEqual(run.wait(30), 1, run.account())

    def test_scrapers(self):
        run = self.start()
        kind, text = get(f"http://{self.address}/metrics")
        self.assertEqual(kind, "text/plain; version=0.0.4; charset=utf-8")
        wait_until(lambda: 'tidegate_clock{job="job",rank="1"}' in get(f"http://{self.address}/metrics")[1], 10, "a worker")
        text = get(f"http://{self.address}/metrics")[1]
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=30)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""), checked.stdout)
        kind, text = get(f"http://{self.address}/metrics", Accept=OPENMETRICS)
        self.assertEqual(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertTrue(text.endswith("# EOF\n"))
        status = json.loads(get(f"http://{self.address}/status.json")[1])
        self.assertEqual(status["jobs"][0]["name"], "job")
        self.ask_prometheus(run)
        self.cancel(run)
        with self.assertRaises(urllib.error.URLError) as gone:
            get(f"http://{self.address}/metrics")
        self.assertIsInstance(gone.exception.reason, ConnectionRefusedError)

    def ask_prometheus(self, run):
        """A server of its own, which scrapes what it is told, and is asked what it has got."""
        config = run.run_dir / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{"job_name": "tidegate", "honor_labels": True, "static_configs": [{"targets": [self.address]}]}]}))
        port = free_port()
        server = subprocess.Popen(["prometheus", f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}",
                                   f"--storage.tsdb.path={run.run_dir}/tsdb", "--log.level=warn"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            def values(query):
                try:
                    url = f"http://127.0.0.1:{port}/api/v1/query?query={urllib.parse.quote(query)}"
                    return json.loads(get(url)[1])["data"]["result"]
                except OSError:
                    return []

            clocks = wait_until(lambda: len(values("tidegate_clock")) == 2 and values("tidegate_clock"), 60, "two workers")
            self.assertEqual(sorted(clock["metric"]["rank"] for clock in clocks), ["0", "1"])
            self.assertEqual({clock["metric"]["job"] for clock in clocks}, {"job"})
            self.assertEqual(values("up")[0]["value"][1], "1")
            wait_until(lambda: values("rate(tidegate_worker_seconds_total[5s])"), 30, "a rate of a counter")
        finally:
            server.terminate()
            server.wait(30)

    def test_a_key(self):
        key = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "key"
        key.write_text("a-key-of-many-characters\n")
        key.chmod(0o600)
        run = self.start(key_file=str(key))
        with self.assertRaises(urllib.error.HTTPError) as refused:
            get(f"http://{self.address}/metrics")
        self.assertEqual(refused.exception.code, 401)
        get(f"http://{self.address}/metrics", Authorization="Bearer a-key-of-many-characters")
        self.assertNotIn("a-key-of-many", "".join(path.read_text() for path in run.run_dir.glob("*.*") if path.is_file()))
        self.cancel(run)

    def test_a_port_in_use_is_told_before_anything_is_there(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            text = json.loads(cluster_yaml({"job": {"workers": 1, "mode": LONG}}))
            text["monitor"] = {"address": f"127.0.0.1:{taken.getsockname()[1]}"}
            folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
            (folder / "c.yaml").write_text(json.dumps(text))
            done = tidegate("launch", folder / "c.yaml", "--run-dir", folder / "run")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "monitor: listening on 127.0.0.1:[0-9]+: Address already in use")
        self.assertFalse((folder / "run").exists())


class Terminal:
    """A program on a terminal of that size; what it writes is gathered."""

    def __init__(self, words, columns, rows, **environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm", **environment})
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execv(words[0], words)
        self.text = ""
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while True:
            try:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                return

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        os.kill(self.pid, signal.SIGWINCH)

    def end(self):
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.reader.join(5)
        return code


class Top(Monitor):
    test_scrapers = test_a_key = test_a_port_in_use_is_told_before_anything_is_there = None

    def top(self, run, columns, rows, **environment):
        return Terminal([str(BIN / "tidegate"), "top", str(run.run_dir)], columns, rows, **environment)

    def test_on_terminals(self):
        run = self.start()
        for columns, rows, environment in ((80, 24, {}), (20, 10, {"NO_COLOR": "1"}), (200, 60, {"TERM": "vt100"})):
            with self.subTest(columns=columns):
                screen = self.top(run, columns, rows, **environment)
                wait_until(lambda: "cluster e2e" in screen.text and "rank" in screen.text, 20, lambda: repr(screen.text))
                if columns == 80:
                    self.assertIn("\x1b[3", screen.text, "colours")
                    before = len(screen.text)
                    screen.resize(40, 12)
                    wait_until(lambda: "rank" in screen.text[before:], 20, "it is drawn anew")
                else:
                    self.assertNotRegex(screen.text, "\x1b\\[3[0-9]m", "no colours")
                os.write(screen.fd, b"sjkq")
                self.assertEqual(screen.end(), 0, screen.text)
        unknown = self.top(run, 80, 24, TERM="no-such-terminal")
        self.assertEqual(unknown.end(), 1)
        self.assertIn("the terminal is not known: TERM is 'no-such-terminal'", unknown.text)
        # A launcher that is stopped does not stop who looks.
        screen = self.top(run, 80, 24)
        wait_until(lambda: "rank" in screen.text, 20, "it is drawn")
        run.process.send_signal(signal.SIGSTOP)
        try:
            wait_until(lambda: "the launcher has not answered for" in screen.text, 20, "it says so")
        finally:
            run.process.send_signal(signal.SIGCONT)
        self.cancel(run)
        self.assertEqual(screen.end(), 0)
        self.assertIn("cluster e2e has ended, exit code 1", screen.text)

    def test_under_the_launcher(self):
        text = json.loads(cluster_yaml({"job": {"workers": 2, "mode": LONG}}))
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "c.yaml").write_text(json.dumps(text))
        command = [str(BIN / "tidegate"), "launch", str(folder / "c.yaml"), "--run-dir", str(folder / "run")]
        screen = Terminal(command, 100, 40)
        wait_until(lambda: "# computes + calls . waits" in screen.text and "\x1b[32m#" in screen.text, 30, lambda: repr(screen.text))
        # What is printed stays above, and what is drawn anew takes the place of what was.
        self.assertRegex(screen.text, r"\r\x1b\[[0-9]+A\x1b\[J")
        screen.resize(100, 10)
        before = len(screen.text)
        wait_until(lambda: "job  bsp  clock" in screen.text[before:], 20, "a line for each job has room")
        self.assertEqual(tidegate("stop", folder / "run", "--now").returncode, 0)
        self.assertEqual(screen.end(), 1, screen.text)
        self.assertIn("interrupted", screen.text.split("\x1b[J")[-1])
        plain = Terminal([*command[:-1], str(folder / "plain")], 60, 20, NO_COLOR="1")
        wait_until(lambda: ". waits" in plain.text, 30, lambda: repr(plain.text))
        self.assertNotRegex(plain.text, "\x1b\\[[0-9;]*3[0-9]m", "no colours")
        self.assertEqual(tidegate("stop", folder / "plain", "--now").returncode, 0)
        plain.end()

    def test_where_output_is_no_terminal(self):
        run = self.start()
        shown = subprocess.Popen([BIN / "tidegate", "top", run.run_dir], stdout=subprocess.PIPE, text=True)
        self.assertEqual(shown.stdout.readline(), "cluster e2e is running\n")
        self.cancel(run)
        text = shown.communicate(timeout=30)[0]
        self.assertEqual(shown.returncode, 0, text)
        self.assertIn("cluster e2e has ended, exit code 1\n", text)
        self.assertNotIn("\x1b", text)
        nothing = tidegate("top", run.run_dir.parent / "none")
        self.assertEqual(nothing.returncode, 1)
        self.assertIn("no launcher lives in", nothing.stderr)


if __name__ == "__main__":
    main()
