"""What `tidegate render kubernetes` writes: checked against the published schemas, and carried out on hosts that share no file, by
tests/support/kubernetes_api.py. No real cluster has run it. Skipped where such hosts cannot be made (they need root), or where
there is no Python with the client of Kubernetes (TIDEGATE_KUBERNETES_PYTHON)."""

import os
import sys

PYTHON = os.environ.get("TIDEGATE_KUBERNETES_PYTHON", "")
if PYTHON and os.path.realpath(sys.prefix) != os.path.realpath(os.path.dirname(os.path.dirname(PYTHON))):
    os.execv(PYTHON, [PYTHON, "-B", *sys.argv])

import shutil  # noqa: E402
import tempfile  # noqa: E402

from engines import *  # noqa: E402

if PYTHON:
    import kubernetes_api
    import kubernetes_validate
    import yaml

SCHEMAS = "1.37"
NAME = "mine"
KEYS_OF_JOB_SETS = {"network": {"enableDNSHostnames", "subdomain"}, "successPolicy": {"operator", "targetReplicatedJobs"},
                    "failurePolicy": {"maxRestarts"}, "replicatedJobs": {"name", "replicas", "template"}}


@unittest.skipUnless(PYTHON, "no Python with the client of Kubernetes is named (TIDEGATE_KUBERNETES_PYTHON)")
class Kubernetes(EngineTest):
    def setUp(self):
        self.volume = tempfile.mkdtemp(prefix="claim-")
        self.addCleanup(shutil.rmtree, self.volume, ignore_errors=True)

    def render(self, spec, *words, expect=0):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(spec, file)
            file.flush()
            done = subprocess.run([BIN / "tidegate", "render", "kubernetes", file.name, *words], capture_output=True, text=True,
                                  timeout=20, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        return list(yaml.safe_load_all(done.stdout)) if expect == 0 else done.stderr

    def of_kind(self, objects, kind):
        return next(each for each in objects if each["kind"] == kind)

    def test_objects_fit_the_published_schemas(self):
        spec = self.spec(None, 10, job={"checkpoint": {"every": "5 clocks"}}, name=NAME)
        objects = self.render(spec, "--nodes", "5", "--image", "registry/image:1", "--claim", "runs", "--resource", "cpu=2",
                              "--resource", "nvidia.com/gpu=1", "--namespace", "train")
        self.assertEqual([each["kind"] for each in objects],
                         ["ConfigMap", "Secret", "Service", "NetworkPolicy", "PodDisruptionBudget", "JobSet"])
        job_set = self.of_kind(objects, "JobSet")
        for each in [*objects[:-1], *kubernetes_api.jobs_of(job_set)]:
            kubernetes_validate.validate(each, SCHEMAS, strict=True)
        with self.assertRaises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate({**objects[0], "dota": {}}, SCHEMAS, strict=True)
        self.assertEqual({each["metadata"]["namespace"] for each in objects}, {"train"})
        self.assertEqual(job_set["apiVersion"], "jobset.x-k8s.io/v1alpha2")
        self.assertEqual(set(job_set["spec"]), set(KEYS_OF_JOB_SETS))
        for key, known in KEYS_OF_JOB_SETS.items():
            for each in job_set["spec"][key] if isinstance(job_set["spec"][key], list) else [job_set["spec"][key]]:
                self.assertLessEqual(set(each), known)
        self.assertEqual(self.of_kind(objects, "PodDisruptionBudget")["spec"]["minAvailable"], 4)
        launcher, hosts = (part["template"]["spec"] for part in job_set["spec"]["replicatedJobs"])
        self.assertEqual((launcher["completions"], hosts["completions"]), (1, 4))
        self.assertEqual(hosts["template"]["spec"]["containers"][0]["resources"],
                         {way: {"cpu": "2", "nvidia.com/gpu": "1"} for way in ("requests", "limits")})
        again = self.render(spec, "--nodes", "5", "--image", "i", "--claim", "runs")
        keys = [self.of_kind(each, "Secret")["stringData"]["key"] for each in (objects, again)]
        self.assertNotEqual(*keys)
        kept = self.render(spec, "--nodes", "5", "--image", "i", "--claim", "runs", "--key-secret", "other")
        self.assertNotIn("Secret", [each["kind"] for each in kept])

    def test_what_cannot_be_rendered_is_told(self):
        spec = self.spec(None, 10, name=NAME)
        for words, changes, why in ((["--nodes", "2"], {}, "no image is given"),
                                    (["--image", "i"], {}, "say how many there are, --nodes N"),
                                    (["--image", "i", "--nodes", "0"], {}, "--nodes '0'"),
                                    (["--image", "i", "--nodes", "2"], {"name": "My_run"}, "'My_run' cannot name pods"),
                                    (["--image", "i", "--nodes", "2", "--set", "jobs.job.checkpoint.every=5 clocks"], {}, "--claim NAME"),
                                    (["--image", "i", "--nodes", "2", "--resource", "cpu"], {}, "NAME=AMOUNT")):
            changed = {**spec, "cluster": {**spec["cluster"], **changes}}
            self.assertIn(why, self.render(changed, *words, expect=2))

    def begin(self, clocks, pause_us, nodes=3, spare=1, job=()):
        hosts = self.own_hosts(nodes + spare, shared=[self.volume])
        expected = self.expected(hosts, clocks)
        api = kubernetes_api.Api()
        api.apply(self.render(self.spec(hosts, clocks, pause_us, job=job, name=NAME), "--nodes", str(nodes), "--image", "own",
                              "--claim", "runs", "--volume", self.volume))
        cluster = kubernetes_api.Kubernetes(hosts, api, NAME, f"{BIN}:/usr/local/bin:/usr/bin:/bin")
        self.addCleanup(cluster.close)
        return hosts, cluster, expected

    def read(self, name):
        try:
            return next(pathlib.Path(self.volume).glob(f"{NAME}-*/{name}")).read_text(errors="replace")
        except (OSError, StopIteration):
            return ""

    def count(self, kind):
        text = self.read("events.jsonl")
        return sum(json.loads(line)["kind"] == kind for line in text[: text.rfind("\n") + 1].splitlines())

    def wait(self, cluster, condition, seconds, subject):
        wait_until(lambda: condition() or cluster.trouble or cluster.outcome, seconds, lambda: f"{subject}: {cluster.said()}")
        self.assertIsNone(cluster.trouble)
        self.assertTrue(condition(), f"{subject}: {cluster.outcome}: {cluster.said()}")

    def assert_completed(self, hosts, cluster, expected):
        wait_until(lambda: cluster.trouble or cluster.outcome, 180, cluster.said)
        self.assertEqual((cluster.trouble, cluster.outcome), (None, "Completed"), cluster.said() + self.read("events.jsonl"))
        self.assertEqual(json.loads(self.read("result.json"))["jobs"][0]["parameters_sha256"], expected)
        self.assert_nothing_runs(hosts, cluster.lost)

    def kill(self, hosts, node, words):
        victim = next(pid for pid, command in hosts.processes(node).items() if words in command)
        hosts.run(node, ["kill", "-9", victim])

    def test_the_same_bits_whatever_dies(self):
        hosts, cluster, expected = self.begin(500, 40_000)

        def calm(lost):
            self.wait(cluster, lambda: self.count("host_back") == lost, 60, f"{lost} hosts are back")
            self.wait(cluster, lambda: self.count("replica_in_sync") >= 3 + lost, 60, "in sync")

        calm(0)
        second, third = (cluster.pod(f"{NAME}-hosts-0-{index}") for index in (0, 1))
        self.kill(hosts, second.node, "e2e_worker")
        self.kill(hosts, second.node, "tidegate door")
        calm(1)
        self.assertEqual(second.restarts, 1)
        cluster.lose(third.node)
        calm(2)
        self.assertNotEqual(cluster.pod(third.hostname).node, third.node, "it has another address now")
        cluster.evict(cluster.pod(second.hostname))
        calm(3)
        self.assert_completed(hosts, cluster, expected)

    def test_a_launcher_whose_pod_is_lost_goes_on(self):
        hosts, cluster, expected = self.begin(300, 20_000, job={"checkpoint": {"every": "20 clocks"}})
        self.wait(cluster, lambda: self.count("checkpoint") >= 2, 60, "checkpoints")
        launcher = cluster.pod(f"{NAME}-launcher-0-0")
        cluster.lose(launcher.node)
        self.wait(cluster, lambda: self.count("run_resumed") == 1, 60, "it goes on")
        self.assert_completed(hosts, cluster, expected)


if __name__ == "__main__":
    unittest.main(verbosity=2)
