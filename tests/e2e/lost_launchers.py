"""Clusters whose launcher is lost, with all of its processes and its run folder, once they have kept checkpoints elsewhere."""

import shutil

from cluster import *
import cluster


class LostLauncherTest(ClusterTest):
    def checkpoints(self, run):
        return run.events_text().count('"checkpoint"')

    def training(self, run, checkpoints=2, seconds=60):
        wait_until(lambda: self.checkpoints(run) >= checkpoints or run.process.poll() is not None, seconds,
                   lambda: "checkpoints; " + run.account())
        self.assertIsNone(run.process.poll(), run.output)

    def lose(self, run):
        processes = run.processes()
        run.process.kill()
        run.process.wait()
        for process in processes:
            try:
                os.kill(process["pid"], signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended with its launcher
        self.assert_all_gone(processes, 10)
        shutil.rmtree(run.run_dir)


__all__ = cluster.__all__ + ["LostLauncherTest"]
