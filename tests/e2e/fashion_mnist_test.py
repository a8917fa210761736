"""The main job on real data: the accuracies that the README promises, under every policy."""

from cluster import *


class FashionMnist(ClusterTest):
    def train(self, example, job, policy):
        arguments = ["--set", f"jobs.{job}.consistency.policy={policy}"]
        if policy == "ssp":
            arguments += ["--set", f"jobs.{job}.consistency.staleness=3"]
        run = self.run_to_end(SOURCE / "examples" / example, *arguments, seconds=600)
        result = next(one for one in run.result()["jobs"] if one["name"] == job)
        print(f"{job} {result['policy']}: accuracy {result['test_accuracy']}, loss {result['loss']:.4f}, "
              f"{result['wall_seconds']:.1f} s, staleness {result['staleness_max']}, "
              f"{result['parameters_sha256'][:16]}", flush=True)
        bound = {"bsp": 0, "ssp": 3}.get(policy)
        if bound is not None:
            self.assertLessEqual(result["staleness_max"], bound)
        self.assertEqual(len(result["parameters_sha256"]), 64)
        if policy == "bsp":
            self.assertEqual(result["payload_bytes_copied"], 0)
        return result["test_accuracy"]

    def compare(self, example, job, least):
        bsp = self.train(example, job, "bsp")
        self.assertGreaterEqual(bsp, least)
        for policy in ("ssp", "async"):
            self.assertLessEqual(abs(self.train(example, job, policy) - bsp), 0.01, policy)

    def test_softmax(self):
        self.compare("fashion_mnist_softmax.yaml", "softmax", 0.835)

    def test_mlp(self):
        self.compare("fashion_mnist.yaml", "mlp", 0.875)

    def test_side_by_side(self):
        run = self.run_to_end(SOURCE / "examples/two_jobs.yaml", seconds=600)
        jobs = {job["name"]: job for job in run.result()["jobs"]}
        self.assertEqual({job["policy"] for job in jobs.values()}, {"bsp", "ssp(3)"})
        self.assertGreaterEqual(jobs["softmax"]["test_accuracy"], 0.835)
        self.assertGreaterEqual(jobs["mlp"]["test_accuracy"], 0.865)
        print({name: job["test_accuracy"] for name, job in jobs.items()})


main()
