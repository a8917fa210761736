"""tidegate.Run: what a notebook gets of a run that has ended, and of one that goes on."""

from __future__ import annotations

import json
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import tidegate


def slow(clocks: int) -> None:
    import time

    with tidegate.session() as s:
        w = s.table("w", 1000, optimizer=tidegate.sgd(0.1))
        while s.now < clocks:
            time.sleep(0.03 if s.rank == 1 else 0.01)
            w.grad[:] = 1
            s.exchange()
            s.report(samples=(s.now + 1) * 32, loss=1.0 / (s.now + 1))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tidegate.Run:
    folder = tmp_path_factory.mktemp("runs") / "run"
    tidegate.spawn(slow, workers=3, args=(120,), run_dir=folder, follow=False, set={"jobs.slow.checkpoint": "{every: 50 clocks}"})
    return tidegate.Run(folder)


def test_columns_of_jobs_and_workers(ended: tidegate.Run) -> None:
    jobs, workers = ended.jobs(), ended.workers()
    assert {len(column) for column in jobs.values()} == {len(jobs["time"])} and len(jobs["time"]) >= 2
    assert {len(column) for column in workers.values()} == {3 * len(jobs["time"])}
    shards = ended.shards()
    assert set(shards["shard"]) == {0} and len(shards["busy"]) == len(jobs["time"]) and max(shards["busy"]) > 0
    assert set(jobs["job"]) == {"slow"} and workers["rank"][:3] == [0, 1, 2]
    assert jobs["clock_slowest"] == sorted(jobs["clock_slowest"]) and jobs["clock_slowest"][-1] <= 120
    assert timedelta() < jobs["time"][-1] - jobs["time"][0] < timedelta(minutes=5)
    last = [share for share, rank in zip(workers["comes_last"], workers["rank"]) if rank == 1][-1]
    assert last > 0.5, "the others wait for it"


def test_who_is_slow_and_what_has_happened(ended: tidegate.Run) -> None:
    [found] = ended.why()
    assert [(worker["rank"], worker["because"]) for worker in found["held_up_by"]] == [(1, "computes")]
    assert ended.status()["state"] == "ended" and ended.status()["exit_code"] == 0
    events = ended.events()
    assert events["kind"].count("worker_joined") == 3 and "checkpoint" in events["kind"]
    joined = [at for at, kind in enumerate(events["kind"]) if kind == "worker_joined"]
    assert sorted(events["process"][at] for at in joined) == ["worker-slow-0", "worker-slow-1", "worker-slow-2"]
    assert {events["job"][at] for at in joined} == {"slow"} and sorted(events["rank"][at] for at in joined) == [0, 1, 2]
    assert [clock for kind, clock in zip(events["kind"], events["clock"]) if kind == "checkpoint"][:2] == [50, 100]
    assert "control plane" in ended.log("coordinator-0")
    assert repr(ended) == f"Run({str(ended.folder)!r})"


def littered(clocks: int) -> None:
    import gc
    import time

    with tidegate.session() as s:
        w = s.table("w", 1000, optimizer=tidegate.sgd(0.1))
        held = [[] for _ in range(400_000)] if s.rank == 1 else []
        while s.now < clocks:
            time.sleep(0.01)
            gc.collect()
            w.grad[:] = len(held)
            s.exchange()


def test_a_worker_whose_garbage_others_wait_for(tmp_path: Path) -> None:
    tidegate.spawn(littered, workers=3, args=(100,), run_dir=tmp_path / "run", follow=False)
    run = tidegate.Run(tmp_path / "run")
    [found] = run.why()
    named = {each["rank"]: each["because"] for each in found["held_up_by"] if "rank" in each}
    # Whatever else the machine does may keep a process from a processor, which comes first.
    assert named[1] in ("garbage", "starved"), found
    workers = run.workers()
    shares = [share for share, rank in zip(workers["garbage"], workers["rank"]) if rank == 1]
    assert max(shares) > 0.2


def paused(folder: str) -> None:
    """Thirty clocks, and another one once somebody has looked at them."""
    import time
    from pathlib import Path

    with tidegate.session() as s:
        w = s.table("w", 1000, optimizer=tidegate.sgd(0.1))
        while s.now < 31:
            if s.now == 30:
                Path(folder, f"there-{s.rank}").touch()
                while not Path(folder, "go").exists():
                    time.sleep(0.01)
            time.sleep(0.03 if s.rank == 1 else 0.005)
            w.grad[:] = 1
            s.exchange()


def test_each_clock(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    training = threading.Thread(target=tidegate.spawn, args=(paused,),
                                kwargs={"workers": 2, "args": (str(tmp_path),), "run_dir": run_dir, "follow": False})
    training.start()
    try:
        deadline = time.monotonic() + 60
        while not all((tmp_path / f"there-{rank}").exists() for rank in (0, 1)):
            assert training.is_alive() and time.monotonic() < deadline, "they come to clock 30"
            time.sleep(0.05)
        run = tidegate.Run(run_dir)
        assert set(run.clocks()["clock"]) == set(range(30))
        some = run.clocks(5, 7)
        assert some["clock"] == [5, 5, 6, 6, 7, 7] and some["rank"] == [0, 1] * 3
        assert run.clocks(5)["clock"] == [5, 5] and set(run.clocks(last=3)["clock"]) == {0, 1, 2, 3}
        assert min(seconds for seconds, rank in zip(some["computes_seconds"], some["rank"]) if rank == 1) > 0.025
    finally:
        (tmp_path / "go").touch()
        training.join()
    with pytest.raises(tidegate.UnavailableError, match="its run has left no spans|nothing of these clocks"):
        run.clocks(100)


def test_what_is_no_run_and_what_is_not_there(ended: tidegate.Run, tmp_path: Path) -> None:
    with pytest.raises(tidegate.NotFoundError, match="is no run folder"):
        tidegate.Run(tmp_path)
    for name in ("shard-9", "../events", ""):
        with pytest.raises(tidegate.NotFoundError, match="there are: coordinator-0"):
            ended.log(name)
    (tmp_path / "cluster.yaml").write_text("cluster: {}\n")
    empty = tidegate.Run(tmp_path)
    assert empty.jobs()["time"] == [] and empty.events()["kind"] == [] and empty.shards()["time"] == [] and empty.replicas()["time"] == []
    with pytest.raises(tidegate.UnavailableError, match="no launcher lives"):
        empty.status()
    (tmp_path / "metrics.jsonl").write_text('{"version": 1, "unix\n' + json.dumps({"version": 7}) + "\n")
    with pytest.raises(tidegate.UnavailableError, match="another version of Tidegate: 7"):
        empty.workers()


def test_a_table_of_pandas(ended: tidegate.Run) -> None:
    pandas: Any = pytest.importorskip("pandas", reason="scripts/python-packages-notebook has it")
    table = pandas.DataFrame(ended.workers())
    assert str(table["time"].dtype).startswith("datetime64[ns")
    slowest = table.groupby("rank")["computes"].mean().idxmax()
    assert slowest == 1


def test_a_picture(ended: tidegate.Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="scripts/python-packages-notebook has it")
    figure = ended.plot()
    figure.savefig(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
    speed, late, loss, shares = figure.axes
    assert len(speed.get_lines()[0].get_xdata()) == len(ended.jobs()["time"])
    heights = [sum(line.get_ydata()) for line in late.get_lines()[:3]]
    assert heights.index(max(heights)) == 1, "worker 1 is late"
    assert len(loss.get_lines()) >= 1 and len(shares.patches) == 9
    with pytest.raises(tidegate.NotFoundError, match="say which job"):
        ended.plot("none")


def talkative() -> None:
    with tidegate.session():
        for number in range(20000):
            print(f"line {number} of many")


class ClosedSoon:
    """What a notebook or a log handler may put in place of sys.stdout, and what ends before the run does."""

    lines: list[str] = []

    def write(self, text: str) -> None:
        if len(self.lines) > 2:
            raise ValueError("I/O operation on closed file")
        self.lines.append(text)

    def flush(self) -> None:
        pass


def test_output_that_cannot_be_shown_any_more_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", ClosedSoon())
    tidegate.spawn(talkative, workers=1, run_dir=tmp_path / "run", follow=True)
    assert len(ClosedSoon.lines) == 3
    assert "line 19999 of many" in tidegate.Run(tmp_path / "run").log("worker-talkative-0")
