"""Processes that are stopped for longer than any time-out that a call once had, under a longer heartbeat: the others wait
and go on, and what was asked meanwhile is answered. Two clusters beside each other, as both only wait."""

import sys
import time

sys.path.insert(0, str(__import__("pathlib").Path(__file__).resolve().parents[1] / "e2e"))

from faults import *

STOPPED_S = 34  # a call to a shard once had 20 s, one to the coordinator 30 s


class Stalls(FaultTest):
    def yaml(self, mode, **cluster):
        made = json.loads(cluster_yaml({"job": {"workers": 2, "mode": mode}}, shards=1, **cluster))
        made["supervision"] = {"heartbeat": {"timeout": "60s"}}
        return json.dumps(made)

    def logs(self, run):
        return "\n".join(f"{path.name}:\n{path.read_text(errors='replace')[-2000:]}"
                         for path in sorted((run.run_dir / "logs").glob("*.log")))

    def pid(self, run, name):
        role, index = name.split("-")
        return wait_until(lambda: next((p["pid"] for p in run.processes() if p["role"] == role and
                                        p["index"] == int(index) and alive(p["pid"])), None), 20, f"{name} is there")

    def test_replica_that_is_to_be_promoted_and_coordinator_that_is_asked(self):
        mode = ["workload", 300, 0, "exchange"]
        expected = self.hash_of(self.run_to_end(self.yaml(mode, replicas=1)))
        mode = ["workload", 300, 30000, "exchange"]
        promoted = self.launch(self.yaml(mode, replicas=1))
        asked = self.launch(self.yaml(mode, replicas=1))
        for run in (promoted, asked):
            self.wait_for_a_clock(run)
        replica = self.pid(promoted, "replica-0")
        coordinator = self.pid(asked, "coordinator-0")
        os.kill(replica, signal.SIGSTOP)
        os.kill(coordinator, signal.SIGSTOP)
        self.kill(promoted, "shard-0")  # its replica cannot hear that it is to serve
        self.kill(asked, "worker-1")    # the next one asks to be let in
        time.sleep(STOPPED_S)           # what is measured: nobody gives up meanwhile
        for run in (promoted, asked):
            self.assertIsNone(run.process.poll(), f"the run goes on; {run.output}\n{run.events_text()}\n{self.logs(run)}")
        os.kill(replica, signal.SIGCONT)
        os.kill(coordinator, signal.SIGCONT)
        for run in (promoted, asked):
            self.assertEqual(run.wait(60), 0, run.output)
            self.assertEqual(self.hash_of(run), expected)
            self.assert_nothing_left(run)


main()
