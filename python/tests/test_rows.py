"""Tables of rows by id, through numpy."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import tidegate

Run = Callable[..., tidegate.Result]


def test_rows_follow_every_push(run: Run) -> None:
    def train() -> list[Any]:
        with tidegate.session() as s:
            t = s.rows("user", 2, optimizer=tidegate.sgd(0.5), init=1.0, parts=5)
            assert t is s.rows("user", 2, optimizer=tidegate.sgd(0.5), init=1.0, parts=5)
            while s.now < 3:
                mine = np.array([7, s.rank, 7])
                got = t.pull(mine)
                assert got.shape == (3, 2) and got.dtype == np.float32
                t.push(mine, np.ones((3, 2), np.float32))
                s.clock()
            ids, values = t.items()
            return [ids.tolist(), values.tolist(), t.pull([[7, 2**64 - 1]]).tolist()]

    # Of id 7 each of two workers pushes 2 in each of three clocks; the mean times 0.5 is taken off.
    result = run(train, workers=2, shards=2)
    expected = [[0, 1, 7], [[0.25, 0.25], [0.25, 0.25], [-2.0, -2.0]], [[[-2.0, -2.0], [1.0, 1.0]]]]
    assert result.returns == [expected] * 2
    assert result.parameters_sha256 is not None


def test_functions_of_rows(run: Run) -> None:
    def train() -> list[Any]:
        with tidegate.session() as s:
            t = s.rows("user", 2, optimizer=tidegate.sgd(1.0), init=0.0, parts=3)
            none = [t.call("count_rows"), t.call("max")]
            t.push(np.arange(10), -np.arange(20, dtype=np.float32).reshape(10, 2))
            s.clock()
            with pytest.raises(tidegate.NotFoundError, match="count_rows"):
                t.call("median")
            with pytest.raises(tidegate.InvalidArgumentError, match="these 2 arguments"):
                t.call("count_above", 1, 2)
            return none + [t.call("count_rows"), t.call("sum"), t.call("max"), t.call("count_above", 4.5)]

    assert run(train, workers=2, shards=2).returns == [[0.0, -np.inf, 10.0, 190.0, 19.0, 15.0]] * 2


def test_rows_asked_for_ahead_are_as_new(run: Run) -> None:
    def train() -> list[Any]:
        with tidegate.session() as s:
            t = s.rows("user", 2, optimizer=tidegate.sgd(0.5), init=1.0, parts=5)
            seen = []
            while s.now < 4:
                seen.append(t.pull([3, 4, 5 + s.rank]).tolist())
                t.prefetch([3, 4, 5 + s.rank])
                t.push([3, 5 + s.rank], np.ones((2, 2), np.float32))
                with pytest.raises(tidegate.OutOfOrderError, match="prefetch of table 'user'"):
                    t.prefetch([3]).wait()
                s.clock()
            return seen

    result = run(train, workers=2, shards=2)
    # The mean is over both workers, whichever rows they push.
    expected = [[[1 - 0.5 * c] * 2, [1.0] * 2, [1 - 0.25 * c] * 2] for c in range(4)]
    assert result.returns == [expected] * 2


def test_first_values_follow_from_the_id(run: Run) -> None:
    def train() -> list[Any]:
        with tidegate.session() as s:
            t = s.rows("user", 4, init=tidegate.uniform(0.5))
            out = np.empty((100, 4), np.float32)
            pending = t.pull(np.arange(100), out, wait=False)
            pending.wait()
            ids, values = t.items()
            assert ids.shape == (0,) and values.shape == (0, 4)
            return [float(abs(out).max()), out[3].tolist(), t.pull([], final=True).shape]

    first, second = (run(train, workers=1, shards=shards).returns[0] for shards in (1, 3))
    assert first == second
    assert 0.4 < first[0] <= 0.5 and first[2] == (0, 4)


def test_rows_are_admitted_and_evicted(run: Run) -> None:
    def train() -> list[Any]:
        with tidegate.session() as s:
            t = s.rows("user", 1, optimizer=tidegate.sgd(1.0), init=0.0, parts=1, admit_count=2, evict_unseen=3)
            few = s.rows("few", 1, optimizer=tidegate.ftrl(1.0, l1=0.5), init=0.0, parts=1, evict_rows=2, evict_by="lru")
            with pytest.raises(tidegate.InvalidArgumentError, match="another capacity, parts, init, lifetime, segments or memory"):
                s.rows("few", 1, parts=1, init=0.0, evict_rows=3)
            with pytest.raises(tidegate.InvalidArgumentError, match="evict.by without evict.rows"):
                s.rows("other", 1, evict_by="lfu")
            with pytest.raises(tidegate.InvalidArgumentError, match="admit_count 0 of table 'other'"):
                s.rows("other", 1, admit_count=0)
            with pytest.raises(tidegate.InvalidArgumentError, match="'ftrl' steps tables of rows alone"):
                s.table("dense", 3, optimizer=tidegate.ftrl(0.1))
            seen = []
            for ids in ([1, 2], [1], [2], [2], [2], [1]):
                t.push(ids, np.ones((len(ids), 1), np.float32))
                few.push([s.now], np.full((1, 1), -2, np.float32))
                s.clock()
                seen.append([t.items()[0].tolist(), few.items()[0].tolist()])
            assert t.pull([1, 2]).tolist() == [[0.0], [-3.0]]
            assert (few.items()[1] > 0).all()
            return seen

    # Id 1 has its second push in clock 1, and is not seen from then until clock 4.
    assert run(train, workers=1, shards=1).returns == [[
        [[], [0]], [[1], [0, 1]], [[1, 2], [1, 2]], [[1, 2], [2, 3]], [[2], [3, 4]], [[2], [4, 5]]]]


def test_rows_may_be_larger_than_memory(run: Run) -> None:
    if subprocess.run(["stat", "--file-system", "--format=%T", tempfile.gettempdir()], capture_output=True, text=True,
                      ).stdout.strip() in ("tmpfs", "ramfs"):
        pytest.skip("the folder of a run lies in memory")

    def train() -> list[Any]:
        with tidegate.session() as s:
            small = s.rows("small", 16, optimizer=tidegate.adam(0.1), parts=1, memory="64KiB")
            assert s.rows("small", 16, optimizer=tidegate.adam(0.1), parts=1, memory="64KiB") is small
            twin = s.rows("twin", 16, optimizer=tidegate.adam(0.1), init=0.0, parts=1)
            other = s.rows("other", 16, optimizer=tidegate.adam(0.1), init=0.0, parts=1, memory=1 << 17)
            with pytest.raises(tidegate.InvalidArgumentError, match="segments or memory"):
                s.rows("small", 16, optimizer=tidegate.adam(0.1), parts=1, memory="1MiB")
            with pytest.raises(tidegate.InvalidArgumentError, match="memory of 65536 bytes in 2 parts; allowed: 64KiB"):
                s.rows("none", 16, parts=2, memory=65536)
            for memory in ("4GB", "GiB", "-4KiB", "much", 0, -1, 1.5):
                with pytest.raises(tidegate.InvalidArgumentError, match="memory .* of table 'none'; allowed"):
                    s.rows("none", 16, memory=memory)  # type: ignore[arg-type]
            ids = np.arange(3000) * 7
            for clock in range(3):
                for table in (small, twin, other):
                    table.push(ids[clock * 500:], np.full((3000 - clock * 500, 16), 1.0 + clock, np.float32))
                s.clock()
            assert (twin.items()[1] == other.items()[1]).all()
            return [len(small.items()[0])]

    assert run(train, workers=1, shards=1).returns == [[3000]]


def test_gradients_of_one_id_are_combined_on_the_worker(run: Run) -> None:
    def train() -> list[Any]:
        with tidegate.session() as s:
            t = s.rows("user", 2, optimizer=tidegate.sgd(1.0), init=0.0)
            ids = np.array([[9, 4], [9, 9]])
            given = np.array([[[1, -5], [7, 7]], [[-2, 1], [1, 3]]], np.float32)
            t.push(ids, given, combine=np.maximum)
            s.clock()
            largest = t.pull([4, 9]).tolist()
            t.push(ids, given, combine=lambda a, b: 2 * a + b)  # of three, the first goes with the second
            s.clock()
            with pytest.raises(tidegate.InvalidArgumentError, match=r"returned shape \(2,\) for two of \(1, 2\)"):
                t.push(ids, given, combine=lambda a, b: a[0])
            t.push([], np.empty((0, 2), np.float32), combine=np.minimum)
            s.clock()
            return [largest, t.pull([4, 9]).tolist()]

    result = run(train, workers=1, shards=2)
    assert result.returns == [[[[-7.0, -7.0], [-1.0, -3.0]], [[-14.0, -14.0], [-2.0, 12.0]]]]


def test_optimizers_and_reductions_may_be_a_plugins(run: Run, tmp_path: Path) -> None:
    source = Path(__file__).resolve().parents[2]
    library = tmp_path / "librules.so"
    subprocess.run(["cc", "-std=c11", "-O2", "-ffp-contract=off", "-shared", "-fPIC", "-I", source / "include", "-o", library,
                    source / "examples/plugin/rules.c", "-lm"], check=True)
    rank_gradients = np.array([[3, -1, 0.5], [-4, 1, 0.25]], np.float32)

    def train() -> list[Any]:
        with tidegate.session() as s:
            lion = tidegate.from_plugin("lion", 1, learning_rate=0.5, beta1=0.5, beta2=0.25, weight_decay=0.0)
            t = s.table("w", 3, optimizer=lion.reduced_by("plugin:strongest"))
            r = s.rows("r", 3, optimizer=tidegate.sgd(1.0).reduced_by("plugin:strongest"), init=0.0)
            with pytest.raises(tidegate.InvalidArgumentError, match="an id comes more than once"):
                r.push([5, 5], np.zeros((2, 3), np.float32))
            r.push([5], rank_gradients[s.rank:s.rank + 1])
            t.push(rank_gradients[s.rank])
            s.clock()
            t.pull()
            return [t.value.tolist(), r.pull([5]).tolist()]

    strongest = np.array([-4, -1, 0.5], np.float32)
    result = run(train, workers=2, shards=2, set={"cluster.plugins": [str(library)]})
    assert result.returns == [[(-0.5 * np.sign(strongest)).tolist(), [(-strongest).tolist()]]] * 2
    with pytest.raises(tidegate.LaunchError):
        run(train, workers=2, shards=2)


def test_segments_have_optimizers_and_first_values_of_their_own(run: Run) -> None:
    def train() -> list[Any]:
        with tidegate.session() as s:
            segments = [tidegate.Segment(1, tidegate.sgd(1.0), init=3.0), tidegate.Segment(2, tidegate.ftrl(1.0, l1=9.0), init=0.0)]
            t = s.rows("user", 3, segments=segments)
            assert s.rows("user", 3, segments=segments) is t
            with pytest.raises(tidegate.InvalidArgumentError, match="another capacity, parts, init"):
                s.rows("user", 3, segments=segments[::-1])
            with pytest.raises(tidegate.InvalidArgumentError, match="segments of 3 columns in rows of dim 4"):
                s.rows("other", 4, segments=segments)
            with pytest.raises(tidegate.InvalidArgumentError, match="those of segments"):
                s.rows("other", 3, segments=segments, init=0.0)
            with pytest.raises(tidegate.InvalidArgumentError, match="allowed: tidegate.Segment"):
                s.rows("other", 3, segments=[(3, tidegate.sgd(1.0))])
            assert s.rows("user", 3, segments=(segment for segment in segments)) is t
            with pytest.raises(tidegate.InvalidArgumentError, match="columns of a segment 0 of table 'other'"):
                s.rows("other", 3, segments=[tidegate.Segment(0, tidegate.sgd(1.0))])
            first = t.pull([7])
            t.push([7], np.full((1, 3), 2, np.float32))
            s.clock()
            return [first.tolist(), t.pull([7]).tolist()]

    # Of two, l1 leaves nothing.
    assert run(train, workers=1, shards=1).returns == [[[[3.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]]]]


def test_what_is_wrong_is_told_and_changes_nothing(run: Run) -> None:
    def train() -> None:
        with tidegate.session() as s:
            t = s.rows("user", 3, init=0.0)
            ones = np.ones((2, 3), np.float32)
            for ids, gradients, text in [
                    ([-1, 2], ones, "are from -1 to 2; allowed: 0 to"),
                    ([1, 2**64], ones, "allowed: 0 to"),
                    ([0.5, 2], ones, "they must be integers"),
                    ([1, 2, 3], ones, r"has shape \(2, 3\); for these ids it must have \(3, 3\)"),
                    ([1, 2], ones.astype(np.float64), "must be a numpy array of float32"),
                    ([1, 2], ones.tolist(), "must be a numpy array of float32")]:
                with pytest.raises(tidegate.InvalidArgumentError, match=text):
                    t.push(ids, gradients)
            with pytest.raises(tidegate.NotFiniteError, match="row '2' has NaN at element 1"):
                t.push([1, 2], np.array([[1, 1, 1], [1, np.nan, 1]], np.float32))
            with pytest.raises(tidegate.InvalidArgumentError, match="not waited for needs `out`"):
                t.pull([1], wait=False)
            with pytest.raises(tidegate.InvalidArgumentError, match="exists with rows of 3 values, not 4"):
                s.rows("user", 4)
            with pytest.raises(tidegate.InvalidArgumentError, match="dim 0 of table 'none'"):
                s.rows("none", 0)
            with pytest.raises(tidegate.InvalidArgumentError, match="parts 5000; allowed: 1 to 4096"):
                s.rows("none", 1, parts=5000)
            with pytest.raises(tidegate.InvalidArgumentError, match="does not step rows; allowed: sgd, adagrad, adam"):
                s.rows("none", 1, optimizer=tidegate.momentum(0.1))
            assert (t.pull([1, 2]) == 0).all()
            t.push([1, 2], ones)
            with pytest.raises(tidegate.OutOfOrderError, match="out of order"):
                t.push([1, 2], ones)
            s.clock()

    assert run(train, workers=1, shards=1).state == "done"
