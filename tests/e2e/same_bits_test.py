"""Promise 3 over real processes: one SHA-256 for every number of shards, chunk size and transport."""

from cluster import *


class SameBits(ClusterTest):
    def sha256(self, shards, chunk_bytes, transport, optimizer):
        jobs = {"job": {"workers": 3, "mode": ["workload", 20],
                        "optimizer": {"name": optimizer, "learning_rate": 0.05}}}
        run = self.run_to_end(
            cluster_yaml(jobs, shards=shards, chunk_bytes=chunk_bytes, transport=transport))
        job = run.result()["jobs"][0]
        self.assertEqual(job["staleness_max"], 0)
        self.assertEqual(job["clocks"], 20)
        self.assertEqual(len(job["parameters_sha256"]), 64)
        return job["parameters_sha256"]

    def test_one_hash(self):
        for optimizer in ("momentum", "adam"):
            hashes = {(shards, chunk, transport): self.sha256(shards, chunk, transport, optimizer)
                      for shards, chunk, transport in ((1, "256KiB", "shm"), (2, "16KiB", "shm"),
                                                       (3, "64KiB", "tcp"), (2, "256KiB", "tcp"), (2, "64KiB", "ucx"),
                                                       (2, "4KiB", "auto"))}
            self.assertEqual(len(set(hashes.values())), 1, hashes)


main()
