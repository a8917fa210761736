"""Aggregators as processes: the same bits, a quarter of the bytes between two hosts of four workers each, and a death
that is named. What needs namespaces is skipped where they cannot be made (without root)."""

import json

from two_hosts import *

CLOCKS = 30
TABLE_BYTES = (300 * 300 + 10) * 4  # of one pull or push by e2e_worker
OPTIMIZER = {"name": "adam", "learning_rate": 0.05}


class Aggregators(TwoHostsTest):
    def job(self, aggregators, workers, clocks, policy="bsp"):
        return {"job": {"workers": workers, "optimizer": OPTIMIZER, "aggregators": aggregators,
                        "consistency": {"policy": policy}, "mode": ["workload", clocks]}}

    def hash_of(self, *arguments, **options):
        run = self.run_to_end(*arguments, **options)
        return run, run.result()["jobs"][0]["parameters_sha256"]

    def test_the_same_bits_in_a_tree_of_processes(self):
        _, alone = self.hash_of(cluster_yaml(self.job("none", 5, 12)))
        for aggregators, count, transport in (("per_host", 1, "auto"), ({"fan_in": 2}, 3, "auto"),
                                              ({"fan_in": 4}, 1, "tcp")):
            with self.subTest(aggregators=aggregators):
                yaml = cluster_yaml(self.job(aggregators, 5, 12), transport=transport, chunk_bytes="16KiB")
                run, summed = self.hash_of(yaml)
                self.assertEqual(summed, alone)
                self.assertEqual(len(list((run.run_dir / "logs").glob("aggregator-job-*.log"))), count)
                self.assertEqual(run.events_text().count("aggregator_joined"), count)

    def test_one_that_may_not_be_replaced_ends_the_run_and_is_named(self):
        jobs = self.job("per_host", 3, 0)
        jobs["job"]["mode"] = ["forever"]
        yaml = json.loads(cluster_yaml(jobs, shards=1))
        yaml["supervision"] = {"aggregator": {"max_restarts": 0}}
        run = self.launch(json.dumps(yaml))
        processes = run.wait_for_training(6)
        victim = next(p for p in processes if p["role"] == "aggregator")
        self.assertEqual(victim["job"], "job")
        os.kill(victim["pid"], signal.SIGKILL)
        self.assertEqual(run.wait(20), 3, run.output)
        self.assertIn(f"aggregator 0 of job job (pid {victim['pid']}) was killed by SIGKILL", run.output)
        self.assert_all_gone(processes, 5)

    def crossed(self, link, aggregators, policy):
        """The bytes that a run of 8 workers on two hosts sends over the wire, and its result. The shard is on the
        first host, so that what crosses is what the second one's four workers push and pull."""
        named = {"a": {"address": link.address(0)},
                 "b": {"address": link.address(1), "prefix": link.command(1, [])}}
        yaml = cluster_yaml(self.job(aggregators, 8, CLOCKS, policy), shards=1, hosts=named, shard_hosts=["a"],
                            chunk_bytes="64KiB")
        before = self.received(link)
        _, parameters = self.hash_of(yaml, runner=link.command(0, []))
        return self.received(link) - before, parameters

    def test_a_quarter_of_the_bytes_crosses(self):
        link = self.two_hosts()
        for policy in ("bsp", "async"):
            with self.subTest(policy=policy):
                plain, parameters = self.crossed(link, "none", policy)
                summed, same = self.crossed(link, "per_host", policy)
                least = 2 * CLOCKS * TABLE_BYTES
                print(f"{policy}: {plain} bytes cross without aggregators, {summed} with: {summed / plain:.4f}; "
                      f"payload alone {4 * least} and {least}")
                self.assertGreater(plain, 4 * least)
                if policy == "bsp":
                    self.assertEqual(same, parameters)
                    self.assertGreater(summed, least)
                # A member that lags behind its group may pull anew under async.
                self.assertLess(summed / plain, 0.26 if policy == "bsp" else 0.33)


main()
