"""Many tables, many chunks, many workers, each with few bytes: what costs is their number."""

from cluster import *

import json

# Nothing dies here. What takes long shows as the time-out of the test.
OF_BSP = {"reduce": "sum"}


class Sizes(ClusterTest):
    def run_many(self, tables, elements, clocks, workers=2, chunk_bytes=65536, job=None, **cluster):
        job = {"workers": workers, "mode": ["many", tables, elements, clocks], **OF_BSP, **(job or {})}
        run = self.run_to_end(cluster_yaml({"job": job}, chunk_bytes=chunk_bytes, **cluster), seconds=110)
        self.assertEqual(run.result()["jobs"][0]["state"], "done", run.output)
        return run

    def test_100_000_chunks_in_one_table(self):
        """Neighbours lie on different shards: one array of them would take 300,000 mappings."""
        run = self.run_many(1, 100_000 * 1024, 3, workers=1, chunk_bytes=4096)
        self.assertEqual(run.result()["jobs"][0]["payload_bytes_copied"], 0)

    def test_100_000_chunks_with_a_checkpoint(self):
        self.run_many(1, 100_000 * 16, 3, chunk_bytes=64, job={"checkpoint": {"every": "2 clocks", "keep": 1}})

    def test_10_000_tables(self):
        self.run_many(10_000, 16, 3)

    def test_64_workers_that_push_1_kib(self):
        self.run_many(1, 256, 20, workers=64, chunk_bytes=512)


main()
