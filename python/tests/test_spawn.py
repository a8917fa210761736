"""Functions that run as workers: what they return, and the spares that take the places of those that die."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable

import pytest
import tidegate

Run = Callable[..., tidegate.Result]


def test_what_a_function_returns_is_not_lost_to_a_kill_after_its_session(run: Run) -> None:
    def train() -> tuple[int, int]:
        import signal

        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))
            while s.now < 3:
                w.grad[:] = 1
                w.push()
                s.clock()
        if s.rank == 1 and s.incarnation == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return s.rank, s.incarnation

    assert run(train, workers=2, shards=2).returns == [(0, 1), (1, 2)]


def test_a_function_that_raises_after_its_session_ends_the_job(run: Run) -> None:
    def train() -> None:
        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))
            s.clock()
        for call in (w.push, s.clock, lambda: s.state["a"], lambda: s.table("w", 10)):
            try:
                call()
                raise AssertionError("used")
            except tidegate.OutOfOrderError as error:
                assert "the session has ended" in str(error), error
        if s.rank == 1:
            raise ValueError("bad metric")

    with pytest.raises(tidegate.WorkerError, match="ValueError: bad metric") as caught:
        run(train, workers=2, shards=2)
    assert caught.value.result is not None and caught.value.result.job.state == "failed"


def test_a_spare_takes_the_place_of_a_worker_that_dies(run: Run) -> None:
    def train() -> dict[str, Any]:
        import signal
        import time

        print(f"begins as {os.environ.get('TIDEGATE_RANK')}", flush=True)
        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))
            while s.now < 60:
                if s.now == s.state.get("dies at", 20) and s.rank == 1 and s.incarnation < 3:
                    s.state["dies at"] = 40
                    events = Path(os.environ["TIDEGATE_RUN_DIR"]) / "events.jsonl"
                    while events.read_text().count('"spare_waits"') < 1 + s.incarnation:
                        time.sleep(0.01)  # the original, and a copy for each death
                    w.grad[:] = 1
                    w.push()
                    s.clock()
                    os.kill(os.getpid(), signal.SIGKILL)
                w.grad[:] = 1
                w.push()
                s.clock()
            w.pull_final()
            assert (w.value == -60).all()
            return {"pid": os.getpid(), "incarnation": s.incarnation, "rank": os.environ["RANK"],
                    "local": os.environ["LOCAL_RANK"], "spare": "TIDEGATE_SPARE_FD" in os.environ}

    result = run(train, workers=2, shards=2, spares=1)
    first, second = result.returns
    assert (first["rank"], second["rank"], second["local"]) == ("0", "1", "1")
    assert (first["incarnation"], second["incarnation"]) == (1, 3)
    assert not first["spare"] and second["spare"]
    events = (result.run_dir / "events.jsonl").read_text()
    assert events.count('"spare_placed"') == 2, events
    assert "spare_passed_over" not in events and "spare_ended" not in events, events
    assert len(list((result.run_dir / "logs").glob("spare-*"))) == 1, "the others are copies"
    log = (result.run_dir / "logs" / "worker-train-1.log").read_text()
    assert log.count("begins as 1") == 3, log
    left = [pid for pid in os.listdir("/proc") if pid.isdigit() and is_of_run(int(pid), result.run_dir)]
    assert left == []


def is_of_run(pid: int, run_dir: Path) -> bool:
    try:
        return f"TIDEGATE_RUN_DIR={run_dir}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def test_the_norm_of_all_tables_is_clipped(run: Run) -> None:
    def train() -> list[float]:
        with tidegate.session() as s:
            a = s.table("a", 3, optimizer=tidegate.sgd(1.0))
            b = s.table("b", 1, optimizer=tidegate.sgd(1.0))
            sums = s.table("sums", 1, optimizer=tidegate.assign())  # no gradient
            for scale in (1, 0.125):  # the mean's norm is 5, and 0.625
                a.grad[:] = [0, 3 * scale * s.rank * 2, 0]
                b.grad[:] = [4 * scale]
                sums.grad[:] = [1000]
                s.exchange([a, b, sums])
            return [float(x) for x in [*a.value, *b.value, *sums.value]]

    clipped = run(train, workers=2, shards=2, clip_norm=2.5).returns
    assert clipped == [[0, -1.5 - 0.375, 0, -2 - 0.5, 1000]] * 2, "halved, then left alone"
    assert run(train, workers=2, shards=2).returns == [[0, -3.375, 0, -4.5, 1000]] * 2
    with pytest.raises(tidegate.TidegateError, match="no clock has one gradient of all workers"):
        run(train, workers=2, shards=2, clip_norm=2.5, consistency="async")
