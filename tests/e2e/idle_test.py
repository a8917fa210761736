"""An idle cluster uses less than 2 % of a core: all its processes together, while a job waits for 10 s."""

from cluster import *

SECONDS = 10


def cpu_seconds(pids):
    ticks = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


class Idle(ClusterTest):
    def test_a_waiting_cluster_sleeps(self):
        run = self.launch(cluster_yaml({"job": {"workers": 4, "mode": ["idle", SECONDS + 5]}}))
        processes = wait_until(lambda: len(run.processes()) == 7 and run.processes(), 30, "7 processes")
        wait_until(lambda: run.events_text().count("worker_joined") == 4, 30, "all workers joined")
        time.sleep(1)  # joining is over
        pids = [p["pid"] for p in processes] + [run.process.pid]
        before, begin = cpu_seconds(pids), time.monotonic()
        time.sleep(SECONDS)
        share = (cpu_seconds(pids) - before) / (time.monotonic() - begin)
        print(f"idle cluster of {len(pids)} processes: {100 * share:.2f} % of a core")
        self.assertLess(share, 0.02)
        self.assertEqual(run.wait(30), 0, run.output)


main()
