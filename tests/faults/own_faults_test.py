"""The `faults:` of a cluster's own file: frames that are lost, late and doubled, and hits at a clock, at a time and drawn.
The result is that of a run in which nothing happened, and each hit is in events.jsonl."""

from faults import *

OFTEN = {"max_restarts": 1000, "backoff": "1ms"}
ROUGH = {"drop": 0.002, "duplicate": 0.02, "delay": 0.05, "delay_up_to": "5ms"}
ADAM = {"name": "adam", "learning_rate": 0.05}


class OwnFaults(FaultTest):
    def yaml(self, job, faults, replicas=0, **rest):
        made = json.loads(cluster_yaml({"job": job}, **rest))
        made["supervision"] = {role: OFTEN for role in ("worker", "shard", "aggregator", "coordinator")}
        made["cluster"]["replicas"] = replicas
        made["faults"] = faults
        return json.dumps(made)

    def expected(self, job):
        calm = {**job, "mode": [*job["mode"][:2], 0, job["mode"][3]], "aggregators": "none"}
        return self.hash_of(self.run_to_end(self.yaml(calm, {})))

    def test_the_same_bits_over_links_that_lose_frames(self):
        ways = (("exchange", "auto", "none", 1), ("spans", "tcp", {"fan_in": 2}, 0), ("in_place", "auto", {"fan_in": 2}, 1))
        for seed, (way, transport, aggregators, replicas) in enumerate(ways):
            with self.subTest(way=way, transport=transport, aggregators=aggregators, replicas=replicas):
                job = {"workers": 4, "mode": ["workload", 80, 1000, way], "optimizer": ADAM, "aggregators": aggregators}
                expected = self.expected(job)
                run = self.launch(self.yaml(job, {"seed": seed, "link": ROUGH}, replicas, transport=transport))
                self.assertEqual(run.wait(150), 0, run.output)
                self.assertEqual(self.hash_of(run), expected)
                self.assertEqual(self.count_events(run, "process_restarted"), 0)
                logs = "".join(log.read_text() for log in (run.run_dir / "logs").iterdir())
                seen = re.findall(r"of \d+ frames (\d+) dropped, (\d+) doubled, (\d+) delayed", logs)
                for figures in zip(*seen):
                    self.assertGreater(sum(map(int, figures)), 0, seen)
                self.assert_nothing_left(run)

    def test_no_push_is_lost_or_applied_twice_over_such_links(self):
        for policy in ({"policy": "ssp", "staleness": 2}, {"policy": "async"}):
            with self.subTest(policy=policy):
                clocks, workers = 80, 3
                run = self.launch(self.yaml({"workers": workers, "mode": ["count", clocks, 1000], "reduce": "sum",
                                             "consistency": policy}, {"link": ROUGH}, transport="tcp"))
                self.assertEqual(run.wait(150), 0, run.output)
                job = run.result()["jobs"][0]
                self.assertEqual(job["metrics"]["pushes"], clocks * workers)
                if policy["policy"] != "async":
                    self.assertLessEqual(job["staleness_max"], policy["staleness"])
                self.assert_nothing_left(run)

    def test_hits_at_a_clock_and_at_a_time(self):
        job = {"workers": 3, "mode": ["workload", 400, 4000, "exchange"], "optimizer": ADAM}
        expected = self.expected(job)
        faults = {"at": {"clock 40": "kill shard-0", "clock 80": ["kill worker-job-1", "kill coordinator-0"],
                         "100ms": "stop:200ms worker-job-2"}}
        run = self.launch(self.yaml(job, faults, 1))
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        done = [json.loads(line)["detail"].split(" pid ")[0] for line in run.events_text().splitlines()
                if '"fault"' in line]
        self.assertEqual(sorted(done), ["continue worker-job-2", "kill coordinator-0", "kill shard-0",
                                        "kill worker-job-1", "stop worker-job-2"])
        self.assertLess(done.index("kill shard-0"), done.index("kill worker-job-1"))
        self.assertEqual(self.count_events(run, "process_restarted"), 3)
        self.assert_nothing_left(run)

    def test_hits_that_are_drawn(self):
        job = {"workers": 3, "mode": ["workload", 400, 6000, "exchange"], "optimizer": ADAM}
        expected = self.expected(job)
        faults = {"seed": 5, "random": {"every": "50ms..200ms", "roles": ["worker", "coordinator"],
                                        "actions": ["kill", "stop:30ms"], "count": 6}}
        run = self.launch(self.yaml(job, faults))
        self.assertEqual(run.wait(60), 0, run.output)
        self.assertEqual(self.hash_of(run), expected)
        hits = [line for line in run.events_text().splitlines() if '"fault"' in line and "continue" not in line]
        self.assertEqual(len(hits), 6)
        self.assert_nothing_left(run)


main()
