"""Promises 2, 3 and 4 for shards with a replica: whichever process of a shard is killed, and whenever, the other
one goes on, nobody else starts again, and the result is that of a run in which nothing happened."""

from faults import *

OFTEN = {role: {"max_restarts": 1000, "backoff": "1ms"} for role in ("worker", "shard")}


class Replicas(FaultTest):
    def yaml(self, job, **rest):
        text = json.loads(cluster_yaml({"job": job}, **rest))
        text["cluster"]["replicas"] = 1
        return json.dumps({**text, "supervision": OFTEN})

    def hash_of(self, run):
        job = run.result()["jobs"][0]
        self.assertEqual(len(job["parameters_sha256"]), 64)
        return job["parameters_sha256"]

    def kill(self, run, name):
        role, index = name.split("-")
        for process in run.processes():
            if process["role"] == role and process["index"] == int(index) and alive(process["pid"]):
                os.kill(process["pid"], signal.SIGKILL)
                return
        self.fail(f"{name} is not there")

    def in_sync(self, run, times, seconds=20):
        """A new replica has had everything, so many times since the run began."""
        wait_until(lambda: self.count_events(run, "replica_in_sync") >= times or run.process.poll() is not None,
                   seconds, f"{times} times in sync; {run.run_dir}")

    def test_same_bits_as_if_nothing_had_happened(self):
        ways = (("momentum", "auto", "exchange"), ("adam", "auto", "spans"), ("adam", "tcp", "in_place"))
        for seed, (optimizer, transport, way) in enumerate(ways):
            with self.subTest(optimizer=optimizer, transport=transport, way=way):
                job = {"workers": 3, "mode": ["workload", 1500, 2000, way],
                       "optimizer": {"name": optimizer, "learning_rate": 0.05}}
                calm = json.loads(self.yaml({**job, "mode": ["workload", 1500, 0, way]}, transport=transport))
                calm["cluster"]["replicas"] = 0
                expected = self.hash_of(self.run_to_end(json.dumps(calm)))
                run = self.launch(self.yaml(job, transport=transport))
                self.in_sync(run, 2)
                for kill in range(6):
                    victim = ("shard-0", "replica-0", "shard-1", "replica-1")[(seed + kill) % 4]
                    self.kill(run, victim)
                    self.in_sync(run, 3 + kill)
                self.assertEqual(run.wait(60), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                started = run.events_text()
                for other in ("worker-job-0", "worker-job-1", "worker-job-2", "coordinator-0"):
                    self.assertEqual(started.count(f"{other} pid"), 1, "nobody else starts again")
                self.assert_nothing_left(run)


main()
