"""The main job on real data: the accuracies that the README promises, under every policy."""

from cluster import *


class FashionMnist(ClusterTest):
    def check(self, job):
        """What all policies promise. Returns the accuracy."""
        print(f"{job['name']} {job['policy']}: accuracy {job['test_accuracy']}, loss {job['loss']:.4f}, "
              f"{job['wall_seconds']:.1f} s, staleness {job['staleness_max']}, "
              f"{job['parameters_sha256'][:16]}", flush=True)
        bound = {"bsp": 0, "ssp(3)": 3}.get(job["policy"])
        if bound is not None:
            self.assertLessEqual(job["staleness_max"], bound)
        self.assertEqual(len(job["parameters_sha256"]), 64)
        if job["policy"] == "bsp":
            self.assertEqual(job["payload_bytes_copied"], 0)
        return job["test_accuracy"]

    def jobs_of(self, example, *arguments):
        run = self.run_to_end(SOURCE / "examples" / example, *arguments, seconds=600)
        return {job["name"]: job for job in run.result()["jobs"]}

    def train(self, example, job, policy):
        arguments = ["--set", f"jobs.{job}.consistency.policy={policy}"]
        if policy == "ssp":
            arguments += ["--set", f"jobs.{job}.consistency.staleness=3"]
        return self.check(self.jobs_of(example, *arguments)[job])

    def test_softmax(self):
        bsp = self.train("fashion_mnist_softmax.yaml", "softmax", "bsp")
        self.assertGreaterEqual(bsp, 0.835)
        for policy in ("ssp", "async"):
            self.assertLessEqual(abs(self.train("fashion_mnist_softmax.yaml", "softmax", policy) - bsp), 0.01, policy)

    def test_mlp_alone_and_side_by_side(self):
        """Under ssp it trains beside the other job: an MLP takes the longest."""
        bsp = self.train("fashion_mnist.yaml", "mlp", "bsp")
        self.assertGreaterEqual(bsp, 0.875)
        self.assertLessEqual(abs(self.train("fashion_mnist.yaml", "mlp", "async") - bsp), 0.01)
        jobs = self.jobs_of("two_jobs.yaml")
        self.assertEqual({name: job["policy"] for name, job in jobs.items()}, {"softmax": "bsp", "mlp": "ssp(3)"})
        self.assertGreaterEqual(self.check(jobs["softmax"]), 0.835)
        self.assertLessEqual(abs(self.check(jobs["mlp"]) - bsp), 0.01)


main()
