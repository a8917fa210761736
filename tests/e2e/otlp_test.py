"""`otlp` sends the metrics of a run to a collector: one that is well, one that is away, that refuses, or that hangs. Every
body is read by the definitions that OpenTelemetry publishes, where there is a Python with them (TIDEGATE_OTLP_PYTHON)."""

import http.server
import json
import socket
import ssl
import tempfile
import threading

from cluster import *

PYTHON = os.environ.get("TIDEGATE_OTLP_PYTHON", "")
LONG = ["workload", 100000, 2000, "exchange"]
SHORT = ["workload", 600, 4000, "exchange"]
READER = """
import json, sys
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
for body in json.load(sys.stdin):
    request = json_format.Parse(body, ExportMetricsServiceRequest())
    for metric in request.resource_metrics[0].scope_metrics[0].metrics:
        kind = metric.WhichOneof("data")
        points = getattr(metric, kind).data_points
        assert len(points) > 0, metric
        assert all(point.WhichOneof("value") == "as_double" and point.time_unix_nano > 0 for point in points), metric
        if kind == "sum":
            assert metric.sum.is_monotonic and metric.sum.aggregation_temporality == 2, metric
            assert all(0 < point.start_time_unix_nano <= point.time_unix_nano for point in points), metric
    print(len(request.resource_metrics[0].scope_metrics[0].metrics))
"""


class Collector:
    """Takes what is posted; `mode` says how: well, refusing, partial, hanging (it never answers)."""

    def __init__(self, mode="well", port=0, context=None):
        self.mode = mode
        self.requests = []  # (path, headers, body)
        self.under_way = self.most_under_way = 0
        self.hangs = threading.Event()  # set: those that hang are let go
        self.lock = threading.Lock()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                with collector.lock:
                    collector.under_way += 1
                    collector.most_under_way = max(collector.most_under_way, collector.under_way)
                try:
                    body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                    mode = collector.mode
                    collector.requests.append((self.path, dict(self.headers), body))
                    if mode == "hanging":
                        self.await_end()
                    else:
                        self.answer(mode)
                finally:
                    with collector.lock:
                        collector.under_way -= 1

            def await_end(self):
                """Until the launcher has given up, and closed the connection."""
                self.close_connection = True
                self.connection.settimeout(0.05)
                while not collector.hangs.is_set():
                    try:
                        if not self.connection.recv(1):
                            return
                    except TimeoutError:
                        pass
                    except OSError:
                        return

            def answer(self, mode):
                text = {"refusing": b"too much at once", "well": b"{}",
                        "partial": b'{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}'}[mode]
                self.send_response(503 if mode == "refusing" else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                """Whoever gives up leaves a broken connection."""

        self.server = Server(("127.0.0.1", port), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def end(self):
        self.hangs.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def bodies(self):
        return [body for _, _, body in self.requests]


def metrics_of(body):
    """Of each metric its points, by attributes."""
    (resource,) = json.loads(body)["resourceMetrics"]
    (scope,) = resource["scopeMetrics"]
    found = {}
    for metric in scope["metrics"]:
        points = metric.get("sum", metric.get("gauge"))["dataPoints"]
        found[metric["name"]] = {
            tuple((of["key"], of["value"]["stringValue"]) for of in point.get("attributes", [])): point for point in points}
    return found


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Otlp(ClusterTest):
    def collector(self, *args, **options):
        collector = Collector(*args, **options)
        self.addCleanup(collector.end)
        return collector

    def folder(self):
        return pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def begin(self, port, mode=LONG, scheme="http", **otlp):
        text = json.loads(cluster_yaml({"job": {"workers": 2, "mode": mode}}))
        text["otlp"] = {"url": f"{scheme}://127.0.0.1:{port}", "every": "1s", **otlp}
        return self.launch(json.dumps(text), env={"no_proxy": "127.0.0.1"})

    def events(self, run, subject):
        lines = [json.loads(line) for line in run.events_text().splitlines()]
        return [line.get("detail", "") for line in lines if line["kind"] == subject]

    def await_event(self, run, subject, count):
        return wait_until(lambda: len(self.events(run, subject)) >= count and self.events(run, subject), 30,
                          lambda: f"{subject}: {run.events_text()}")

    def clock(self, run):
        done = subprocess.run([BIN / "tidegate", "status", run.run_dir, "--json"], capture_output=True, text=True, timeout=30)
        jobs = json.loads(done.stdout)["jobs"] if done.returncode == 0 else []
        return jobs[0]["clock_slowest"] if jobs else 0

    def cancel(self, run):
        done = subprocess.run([BIN / "tidegate", "cancel", run.run_dir, "job"], capture_output=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(run.wait(30), 1, run.account())

    def read_officially(self, bodies):
        """Returns how many metrics each body has."""
        if not PYTHON:
            return [len(metrics_of(body)) for body in bodies]
        done = subprocess.run([PYTHON, "-c", READER], input=json.dumps(bodies), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(line) for line in done.stdout.split()]

    def test_a_run_from_its_begin_to_its_end(self):
        collector = self.collector()
        headers = self.folder() / "headers"
        headers.write_text("# a key\nAuthorization: Bearer a-secret-of-many-letters\n")
        headers.chmod(0o600)
        run = self.begin(collector.port, SHORT, headers_file=str(headers))
        self.assertEqual(run.wait(60), 0, run.account())
        self.assertGreaterEqual(len(collector.requests), 3)
        for path, sent, _ in collector.requests:
            self.assertEqual(path, "/v1/metrics")
            self.assertEqual(sent["Content-Type"], "application/json")
            self.assertEqual(sent["Authorization"], "Bearer a-secret-of-many-letters")
        self.assertEqual(len(self.read_officially(collector.bodies)), len(collector.bodies))
        attributes = {of["key"]: of["value"]["stringValue"]
                      for of in json.loads(collector.bodies[0])["resourceMetrics"][0]["resource"]["attributes"]}
        self.assertEqual((attributes["service.name"], attributes["tidegate.cluster"]), ("tidegate", "e2e"))
        self.assertEqual(attributes["service.instance.id"], f"{socket.gethostname()}:{run.run_dir.resolve()}")
        last = metrics_of(collector.bodies[-1])
        self.assertEqual(last["tidegate_job_state"][("job", "job"), ("state", "done")]["asDouble"], 1)
        self.assertEqual(last["tidegate_clock"][("job", "job"), ("rank", "1")]["asDouble"], SHORT[1])
        samples = [metrics_of(body).get("tidegate_worker_seconds", {}).get((("job", "job"), ("rank", "0"), ("activity", "computes")))
                   for body in collector.bodies]
        samples = [sample for sample in samples if sample]
        self.assertGreaterEqual(len(samples), 2)
        self.assertEqual(len({sample["startTimeUnixNano"] for sample in samples}), 1, "it counts from the begin of the run on")
        times = [int(sample["timeUnixNano"]) for sample in samples]
        self.assertEqual(times, sorted(set(times)))
        self.assertEqual(self.events(run, "otlp"), [f"metrics go to http://127.0.0.1:{collector.port}/v1/metrics"])
        self.assertEqual(self.events(run, "otlp_lost"), [])
        self.assertIn("otlp: {url: ", (run.run_dir / "cluster.yaml").read_text(), "who resumes the run sends, too")
        texts = [path.read_text(errors="replace") for path in run.run_dir.rglob("*") if path.is_file()]
        self.assertNotIn("a-secret-of-many-letters", run.output + "".join(texts))

    def test_a_collector_that_is_away_refuses_and_hangs(self):
        port = free_port()
        run = self.begin(port, timeout="500ms")
        (lost,) = self.await_event(run, "otlp_lost", 1)
        self.assertIn(f"http://127.0.0.1:{port}/v1/metrics: ", lost)
        collector = self.collector("refusing", port=port)
        wait_until(lambda: len(collector.requests) >= 2, 30, "requests that are refused")
        self.assertEqual(len(self.events(run, "otlp_lost")), 1, "it is told once")
        collector.mode = "well"
        (back,) = self.await_event(run, "otlp_back", 1)
        self.assertRegex(back, r"^\d+ were lost$")
        for mode, said in (("refusing", "HTTP status 503, too much at once"), ("partial", "has not taken 3 points: too old"),
                           ("hanging", "timed out")):
            count = len(self.events(run, "otlp_lost")) + 1
            collector.mode = mode
            self.assertIn(said, self.await_event(run, "otlp_lost", count)[-1])
            if mode != "hanging":
                collector.mode = "well"
                self.await_event(run, "otlp_back", count)
        # Training goes on meanwhile, and requests do not pile up.
        before, sent = self.clock(run), len(collector.requests)
        wait_until(lambda: len(collector.requests) >= sent + 2, 30, "requests that hang")
        wait_until(lambda: self.clock(run) > before + 100, 30, "clocks")
        self.assertEqual(collector.most_under_way, 1)
        self.cancel(run)
        self.assertIn("tidegate: metrics do not reach the collector: ", run.output)
        self.assertIn("tidegate: metrics reach the collector again; ", run.output)
        self.assertEqual(len(self.read_officially(collector.bodies)), len(collector.bodies))
        self.assertEqual(metrics_of(collector.bodies[-1])["tidegate_job_state"][("job", "job"), ("state", "failed")]["asDouble"], 1)

    def test_a_run_whose_collector_hangs_ends_as_others(self):
        collector = self.collector("hanging")
        run = self.begin(collector.port, SHORT, timeout="60s")
        self.assertEqual(run.wait(60), 0, run.account())
        # The first has hung from the begin on; the last takes its place.
        self.assertEqual(len(collector.requests), 2)
        self.assertEqual(metrics_of(collector.bodies[1])["tidegate_job_state"][("job", "job"), ("state", "done")]["asDouble"], 1)

    def test_https(self):
        folder = self.folder()
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key,
                        "-out", certificate, "-days", "2", "-subj", "/CN=collector", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        collector = self.collector(context=context)
        run = self.begin(collector.port, scheme="https", certificates=str(certificate))
        wait_until(lambda: len(collector.requests) >= 2, 30, "requests under TLS")
        self.assertEqual(self.events(run, "otlp_lost"), [])
        self.cancel(run)
        count = len(collector.requests)
        run = self.begin(collector.port, scheme="https")
        self.assertIn("certificate", self.await_event(run, "otlp_lost", 1)[0])
        self.cancel(run)
        self.assertEqual(len(collector.requests), count, "whoever is not trusted gets nothing")

    def test_what_is_wrong_is_told_before_anything_is_there(self):
        folder = self.folder()
        headers = folder / "headers"
        headers.write_text("Authorization: a-secret\n")
        headers.chmod(0o644)
        for otlp, said in (({"headers_file": str(headers)}, f"otlp: {headers}: others than its owner may read it"),
                           ({"headers_file": str(folder / "none")}, "otlp: "), ({"certificates": str(folder / "none")}, "otlp: "),
                           ({"url": "http://me:secret@here"}, "otlp.url: ")):
            run = self.begin(1, **otlp)
            self.assertEqual(run.wait(30), 2 if "may read" not in said else 1, run.output)
            self.assertIn(said, run.output)
            self.assertFalse(run.run_dir.exists())


if __name__ == "__main__":
    main()
