"""Filters of rows, through numpy, and in jobs whose workers die."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import tidegate
from tidegate.filters import KktFilter, PullFilter, SignificantFilter

Run = Callable[..., tidegate.Result]


def floats(*values: Any) -> np.ndarray:
    return np.array(values, np.float32)


def test_kkt_drops_rows_that_stay_at_0() -> None:
    kkt = KktFilter(2, l1=0.5)
    gradients = floats([0.5, -0.5], [0, 0.75], [0, 0], [0, np.nan])
    ids, kept = kkt.rows([4, 3, 2, 1], floats([0, 0], [0, 0], [0, 1], [0, 0]), gradients)
    assert ids.dtype == np.uint64 and ids.tolist() == [3, 2, 1]
    np.testing.assert_array_equal(kept, gradients[1:])
    assert (kkt.seen, kkt.kept, kkt.threshold) == (4, 3, 0.5)
    gradients[:] = 9
    assert kept[0, 1] == 0.75, "the arrays are the caller's"
    assert kkt.rows([], np.empty((0, 2), np.float32), np.empty((0, 2), np.float32))[1].shape == (0, 2)


# The numbers are checked against numpy's, in float32, for any shares of zeros.
def test_kkt_is_that_of_numpy() -> None:
    random = np.random.default_rng(1)
    for dim in (1, 3, 16):
        values = (random.standard_normal((500, dim)) * (random.random((500, dim)) < 0.2)).astype(np.float32)
        gradients = random.standard_normal((500, dim)).astype(np.float32)
        kkt = KktFilter(dim, l1=1.3, l2=0.25, slack=0.1, slack_share=0.125)
        assert kkt.rows(np.arange(500), values, gradients)[0].size == 500, "before the first pass"
        l1, l2 = np.float32(1.3), np.float32(0.25)
        violation = np.where(values == 0, np.maximum(abs(gradients) - l1, 0), abs(gradients + l2 * values + np.copysign(l1, values)))
        assert kkt.violation == violation.max()
        kkt.end_pass()
        bound = l1 - np.float32(0.1) - np.float32(0.125) * violation.max()
        ids, kept = kkt.rows(np.arange(500), values, gradients)
        expected = ~((values == 0) & (abs(gradients) <= bound)).all(axis=1)
        np.testing.assert_array_equal(ids, np.flatnonzero(expected))
        np.testing.assert_array_equal(kept, gradients[expected])


def test_kkt_cuts_ranges() -> None:
    kkt = KktFilter(l1=1.0, gap=1)
    ranges, kept = kkt.ranges([(0, 4), (10, 12)], floats(0, 0, 0, 0, 0, 3), floats(2, 0, -2, 0, 0.5, 0))
    assert ranges == [(0, 3), (11, 12)] and kept.tolist() == [2, 0, -2, 0]
    assert kkt.ranges([], floats(), floats())[0] == []
    with pytest.raises(tidegate.InvalidArgumentError, match="pairs of first and last"):
        kkt.ranges([1, 2], floats(0), floats(0))
    with pytest.raises(tidegate.InvalidArgumentError, match="ranges that ascend"):
        kkt.ranges([(3, 4), (0, 1)], floats(0, 0), floats(0, 0))


# With one worker the conditions are those of the whole problem, and no parameter has another bit.
def test_kkt_changes_nothing_where_a_worker_has_all_samples(run: Run) -> None:
    def train(is_filtered: bool) -> list[Any]:
        samples = np.random.default_rng(3).standard_normal((50, 40)).astype(np.float32)
        targets = samples[:, :3] @ floats(3, -2, 1)
        with tidegate.session() as s:
            optimizer = tidegate.proximal(0.1, l1=0.75)
            dense = s.table("dense", 40, optimizer=optimizer.for_ranges(), init=0.0)
            sparse = s.rows("sparse", 1, optimizer=optimizer, init=0.0)
            kkt, pushed = KktFilter(1, l1=0.75), 0
            while s.now < 30:
                first = s.now % 2 * 20
                dense.pull()
                w = np.array(dense.value)
                rows = sparse.pull(np.arange(40))
                assert rows[:, 0].tolist() == w.tolist()
                g = (samples.T @ (samples @ w - targets) / 50).astype(np.float32)[first:first + 20]
                ids, ranges, left = np.arange(first, first + 20), [(first, first + 20)], g
                mine = g[:, None]
                if is_filtered:
                    ranges, left = kkt.ranges(ranges, w[first:first + 20], g)
                    ids, mine = kkt.rows(ids, w[first:first + 20, None], mine)
                    assert mine[:, 0].tolist() == left.tolist()
                pushed += len(left)
                if ranges:
                    dense.push(left, ranges=ranges)
                sparse.push(ids, mine)
                s.clock()
            dense.pull()
            return [np.array(dense.value).tolist(), pushed]

    whole, filtered = (run(train, workers=1, shards=2, args=(choice,)).returns[0] for choice in (False, True))
    assert filtered[0] == whole[0]
    assert np.count_nonzero(whole[0]) < 20
    assert filtered[1] < whole[1] / 3


def test_significant_rows_go_with_their_sums() -> None:
    held = SignificantFilter(1, threshold=1.0)
    assert held.add([5, 3], floats([1], [-1.5]))[0].tolist() == [3]
    other = SignificantFilter(1, threshold=1.0)
    other.restore(held.save())
    ids, sums = other.add([[5], [8]], floats([[0.5]], [[0.25]]))
    assert (ids.tolist(), sums.tolist(), other.held) == ([5], [[1.5]], 1)
    ids, sums = other.flush()
    assert (ids.tolist(), sums.tolist(), other.held) == ([8], [[0.25]], 0)
    relative = SignificantFilter(1, relative=0.5)
    assert relative.add([1, 2], floats([1], [1]), floats([2], [1]))[0].tolist() == [2]
    with pytest.raises(tidegate.InvalidArgumentError, match="values are missing where relative is 0.5"):
        relative.add([1], floats([1]))
    with pytest.raises(tidegate.InvalidArgumentError, match="no state of a significant_filter of rows of 1"):
        other.restore(KktFilter(l1=1.0).save())
    with pytest.raises(tidegate.InvalidArgumentError, match="the bytes that save"):
        other.restore("text")


def test_arguments_that_are_wrong_are_refused() -> None:
    for wrong in ({"l1": -1.0}, {"l1": float("nan")}, {"l1": "much"}, {"l1": 1.0, "dim": 0}, {"l1": 1.0, "gap": -1}):
        with pytest.raises(tidegate.InvalidArgumentError):
            KktFilter(**wrong)  # type: ignore[arg-type]
    kkt = KktFilter(2, l1=1.0)
    for ids, values, match in (([-1], floats([0, 0]), "ids are int64 from -1"), ([0.5], floats([0, 0]), "ids are float64"),
                               ([1], [[0.0, 0.0]], "values are list"), ([1], np.zeros((1, 2)), "values are float64"),
                               ([1], floats([0]), r"values have shape \(1, 1\); allowed: \(1, 2\)")):
        with pytest.raises(tidegate.InvalidArgumentError, match=match):
            kkt.rows(ids, values, floats([0, 0]))
    assert kkt.seen == 0
    with pytest.raises(tidegate.OutOfOrderError, match="once after wanted"):
        PullFilter(rest=1).store(floats([0]))
    with pytest.raises(tidegate.NotFoundError, match="row '7' was never pulled"):
        PullFilter(rest=1).gather([7])
    with pytest.raises(tidegate.OverLimitError, match="more than 1 rows"):
        PullFilter(rest=1, rows_max=1).wanted(0, [1, 2])


def test_pulls_leave_out_what_rests(run: Run) -> None:
    def train() -> list[Any]:
        with tidegate.session() as s:
            t = s.rows("user", 1, optimizer=tidegate.sgd(1.0), init=0.0)
            pulls = PullFilter(1, rest=4)
            seen = []
            while s.now < 8:
                seen.append(pulls.pull(t, [[1, 2, 3]], s.now)[0, :, 0].tolist())
                mine = [1] if s.rank == 0 else [2] if s.now == 3 else []
                t.push(mine, np.full((len(mine), 1), -2, np.float32))
                pulls.pushed(mine)
                s.clock()
            return [seen, pulls.kept, pulls.seen]

    first, second = run(train, workers=2, shards=2).returns
    # Rank 0 pushes row 1 and sees it at once; row 2, which the other pushes in clock 3, had rested since clock 1.
    assert first[0] == [[c, 0, 0] for c in range(6)] + [[6, 1, 0], [7, 1, 0]]
    assert first[2] == 24 and first[1] == 8 + 4 + 3
    assert second[0][4:] == [[4, 1, 0], [5, 1, 0], [6, 1, 0], [7, 1, 0]]


# A filter whose state is kept: the process in the place of one that was killed goes on with what was held back.
def test_what_is_held_back_survives_the_worker(run: Run, tmp_path: Path) -> None:
    def train(folder: str, is_rough: bool) -> list[Any]:
        with tidegate.session() as s:
            t = s.rows("user", 2, optimizer=tidegate.sgd(0.5), init=1.0)
            held = SignificantFilter(2, threshold=1.0)
            pulls = PullFilter(2, rest=3, initial=1.0)
            if s.now > 0:
                held.restore(s.state["held"])
                pulls.restore(s.state["pulls"])
            while s.now < 20:
                random = np.random.default_rng([s.rank, s.now])
                ids = random.integers(0, 40, 12)
                values = pulls.pull(t, ids, s.now)
                gradients = (random.standard_normal((12, 2)) * 0.4 + 0.01 * values).astype(np.float32)
                ids, gradients = held.flush() if s.now == 19 else held.add(ids, gradients)
                pulls.pushed(ids)
                s.state["held"], s.state["pulls"] = held.save(), pulls.save()
                t.push(ids, gradients, wait=False)
                mark = Path(folder) / f"killed-{s.now}"
                if is_rough and s.rank == 1 and s.now in (7, 13) and not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                s.clock()
            return [held.seen, held.kept, held.held, pulls.kept]

    calm = run(train, workers=2, shards=2, args=(str(tmp_path), False))
    rough = run(train, workers=2, shards=2, args=(str(tmp_path), True))
    assert len(list(tmp_path.glob("killed-*"))) == 2
    assert rough.parameters_sha256 == calm.parameters_sha256
    assert rough.returns == calm.returns
    seen, kept, left, pulled = calm.returns[0]
    assert left == 0 and kept < seen and pulled < 20 * 12
