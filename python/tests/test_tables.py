"""Push, pull, exchange and clocks through numpy."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest
import tidegate

Run = Callable[..., tidegate.Result]


def test_parameters_follow_every_push(run: Run) -> None:
    def train() -> list[float]:
        seen = []
        with tidegate.session() as s:
            w = s.table("w", (3, 5), optimizer=tidegate.sgd(0.5), init=1.0)
            while s.now < 4:
                w.pull()
                assert w.value.shape == (3, 5) and w.value.dtype == np.float32
                seen.append(float(w.value[2, 4]))
                w.grad[...] = np.float32(s.rank + 1)
                w.push()
                s.clock()
        return seen

    # The mean of 1 and 2, times 0.5, is taken off in each clock.
    result = run(train, workers=2, shards=2)
    assert result.returns == [[1.0, 0.25, -0.5, -1.25]] * 2
    assert result.state == "done" and result.job.clocks == 4
    assert result.parameters_sha256 is not None and len(result.parameters_sha256) == 64


def test_tables_are_reduced_as_they_say(run: Run) -> None:
    def train() -> list[float]:
        with tidegate.session() as s:
            most = s.table("most", (2,), optimizer=tidegate.assign().reduced_by("max"))
            with pytest.raises(tidegate.InvalidArgumentError, match="allowed: mean, sum, max, min, product, or, and"):
                s.table("other", (2,), optimizer=tidegate.assign().reduced_by("median"))
            most.grad[:] = [s.rank, -s.rank]
            most.push()
            s.clock()
            most.pull()
            return most.value.tolist()

    assert run(train, workers=3, shards=2).returns == [[2.0, 0.0]] * 3


def test_shards_follow_a_schedule_and_clip(run: Run) -> None:
    def train() -> list[float]:
        seen = []
        with tidegate.session() as s:
            falling = tidegate.sgd(1.0).scheduled(tidegate.step_decay(2, factor=0.5, warmup=1)).clipped(2.0)
            w = s.table("w", 3, optimizer=falling)
            while s.now < 5:
                w.pull()
                seen.append(float(w.value[1]))
                w.grad[...] = 2.0 + s.rank * 10  # the mean is 7, and is clipped to 2
                w.push()
                s.clock()
        return seen

    result = run(train, workers=2, shards=2)
    assert result.returns == [[0.0, -2.0, -4.0, -6.0, -7.0]] * 2


def test_workers_scale_the_learning_rate_of_their_clocks(run: Run) -> None:
    def train() -> list[float]:
        seen = []
        with tidegate.session() as s:
            with pytest.raises(tidegate.InvalidArgumentError, match="multiplied by -1"):
                s.scale_learning_rate(-1.0)
            w = s.table("w", 3, optimizer=tidegate.sgd(1.0))
            while s.now < 4:
                w.pull()
                seen.append(float(w.value[0]))
                s.scale_learning_rate((1.0, 0.5, 0.0, 2.0)[s.now] if s.rank == 0 else 100.0)
                w.grad[...] = 1.0
                w.push()
                s.clock()
            w.pull()
            seen.append(float(w.value[0]))
        return seen

    result = run(train, workers=3, shards=2, replicas=1)
    assert result.returns == [[0.0, -1.0, -1.5, -1.5, -3.5]] * 3


def test_a_schedule_that_makes_no_sense_is_refused(run: Run) -> None:
    def train(schedule: Any) -> None:
        with tidegate.session() as s:
            s.table("w", 3, optimizer=tidegate.sgd(1.0).scheduled(schedule))

    for schedule, reason in ((tidegate.step_decay(0), "optimizer.schedule.clocks: 0"),
                             (tidegate.cosine_decay(5, factor=2.0), "optimizer.schedule.factor: 2"),
                             (tidegate.warm_up(-1), "warmup is -1"), ("cosine", "is a str")):
        with pytest.raises(tidegate.WorkerError, match=reason):
            run(train, workers=1, args=(schedule,))


def test_exchange_is_push_clock_and_pull(run: Run) -> None:
    def train(exchanging: bool) -> None:
        with tidegate.session() as s:
            tables = [s.table(f"t{i}", 1000 + i, optimizer=tidegate.adam(0.01), init=tidegate.uniform(0.1))
                      for i in range(3)]
            for t in tables:
                t.pull()
            while s.now < 5:
                for t in tables:
                    t.grad[:] = np.sin(t.value + s.rank)
                if exchanging:
                    s.exchange(tables)
                    continue
                for t in tables:
                    t.push()
                s.clock()
                for t in tables:
                    t.pull()

    first = run(train, workers=3, shards=2, args=(True,))
    second = run(train, workers=3, shards=1, args=(False,))
    assert first.parameters_sha256 == second.parameters_sha256


def test_own_arrays_are_pushed_and_pulled_into(run: Run) -> None:
    def train() -> float:
        with tidegate.session() as s:
            w = s.table("w", (10, 10), optimizer=tidegate.sgd(1.0))
            w.push(np.full((10, 10), -2, np.float32)).wait()
            s.clock()
            out = np.zeros((10, 10), np.float32)
            w.pull(out)
            assert (out == 2).all()
            w.push(np.full((10, 10), -1, np.float32))
            s.clock()
            pending = w.pull_final(out, wait=False)
            assert pending is not None
            pending.wait()
            assert pending.ready
            return float(out[0, 0])

    assert run(train).returns == [3.0]


@pytest.mark.parametrize("make, problem", [
    (lambda np: np.zeros((2, 3)), "is float64; tables are float32"),
    (lambda np: np.zeros((3, 2), np.float32), "has shape (3, 2); the table has (2, 3)"),
    (lambda np: np.zeros((3, 2), np.float32).T, "is not contiguous"),
    (lambda np: [[0.0] * 3] * 2, "is a list; it must be a numpy array"),
])
def test_arrays_that_do_not_fit_are_refused(run: Run, make: Callable[[Any], Any], problem: str) -> None:
    def train() -> str:
        with tidegate.session() as s:
            w = s.table("w", (2, 3), optimizer=tidegate.sgd(1.0))
            try:
                w.push(make(np))
            except tidegate.InvalidArgumentError as error:
                return str(error)
        return ""

    assert problem in run(train).returns[0]


def test_a_gradient_that_is_not_finite_names_its_element(run: Run) -> None:
    def train() -> str:
        with tidegate.session() as s:
            w = s.table("w", 100, optimizer=tidegate.sgd(1.0))
            w.grad[:] = 0
            w.grad[17] = np.nan
            try:
                w.push()
            except tidegate.NotFiniteError as error:
                assert isinstance(error, ArithmeticError) and error.code == "not_finite"
                w.grad[17] = 1  # and it may be mended
                w.push()
                s.clock()
                return str(error)
        return ""

    assert "has NaN at element 17" in run(train).returns[0]


def test_calls_out_of_order_are_refused(run: Run) -> None:
    def train() -> list[str]:
        said = []

        def refused(call: Callable[[], Any]) -> None:
            try:
                call()
            except tidegate.OutOfOrderError as error:
                said.append(str(error))

        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))
            refused(lambda: w.value)
            refused(tidegate.session)
            w.grad[:] = 0
            w.push()
            refused(w.pull)
            s.clock()
        refused(w.push)
        refused(lambda: s.now)
        return said

    said = run(train).returns[0]
    assert len(said) == 5
    assert "pull it first" in said[0]
    assert "has a session already" in said[1]
    assert "session has ended" in said[3] and "session has ended" in said[4]


def test_views_end_with_their_window(run: Run) -> None:
    def train() -> list[bool]:
        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0), init=1.0)
            other = s.table("other", 10)
            assert s.table("w", 10) is w
            w.pull()
            other.pull()
            grad, value, unpushed = w.grad, w.value, other.value
            grad[:] = 1
            w.push()
            seen = [grad.is_valid, value.is_valid, unpushed.is_valid]
            try:
                w.grad[:] = 0  # shards read it
                seen.append(True)
            except tidegate.OutOfOrderError:
                seen.append(False)
            s.clock()
            seen.append(unpushed.is_valid)  # the clock counts as a push of nothing
            w.pull()
            w.grad[:] = w.value
            old = w.value
            w.pull()
            seen.append(old.is_valid)
            s.exchange([w])
            return [*seen, w.value[0] == 0]

    assert run(train).returns == [[False, False, True, False, False, False, True]]


def test_tables_with_other_options_are_refused(run: Run) -> None:
    def train() -> list[str]:
        said = []
        with tidegate.session() as s:
            w = s.table("w", (2, 2), optimizer=tidegate.adam(0.1), init=0.5)
            assert s.table("w", (2, 2), optimizer=tidegate.adam(0.1), init=0.5) is w
            for options in ({"shape": (4,)}, {"optimizer": tidegate.sgd(0.1)}, {"shape": (0, 2)},
                            {"optimizer": tidegate.Optimizer("sgd", momentum=0.5)}, {"optimizer": "adam"}):
                call = {"name": "w", "shape": (2, 2), "optimizer": tidegate.adam(0.1), "init": 0.5, **options}
                try:
                    s.table(**call)
                except tidegate.InvalidArgumentError as error:
                    said.append(str(error))
        return said

    assert len(run(train).returns[0]) == 5


def test_async_and_ssp_run(run: Run) -> None:
    def train() -> float:
        with tidegate.session() as s:
            w = s.table("w", 3000, optimizer=tidegate.sgd(1.0))
            while s.now < 20:
                w.pull()
                w.grad[:] = 1
                w.push()
                s.clock()
            w.pull_final()
            return float(w.value.mean())

    assert run(train, workers=2, consistency="ssp:3", reduce="sum").returns == [-40.0, -40.0]
    assert run(train, workers=2, consistency="async", reduce="sum").returns == [-40.0, -40.0]


def test_ranges_are_rows_that_are_pushed_and_pulled(run: Run) -> None:
    def train() -> list[list[float]]:
        seen = []
        with tidegate.session() as s:
            w = s.table("w", (10, 3), optimizer=tidegate.sgd(1.0).for_ranges(), init=1.0)
            v = s.table("v", 6, optimizer=tidegate.adam(0.5).for_ranges())
            mine = [(2 * s.rank, 2 * s.rank + 1), (7, 9)]
            while s.now < 3:
                rows = np.empty((3, 3), np.float32)
                w.pull(rows, ranges=mine)
                w.pull(ranges=mine)
                assert np.array_equal(w.value[7:9], rows[1:])
                w.push(np.full((3, 3), 2, np.float32), ranges=np.array(mine))
                v.pull(ranges=[(1, 2)])
                if s.rank == 1:
                    v.grad[1] = 4
                    v.push(ranges=[(1, 2)])
                s.clock()
            w.pull()
            seen += [w.value[:, 1].tolist()]
            v.pull()
            seen += [v.value.round(4).tolist()]
        return seen

    # The mean over two workers: rows of one of them move by 1 in each clock, those of both by 2.
    result = run(train, workers=2, shards=2)
    rows = [-2.0, 1.0, -2.0, 1.0, 1.0, 1.0, 1.0, -5.0, -5.0, 1.0]
    assert result.returns == [[rows, [0.0, -1.5, 0.0, 0.0, 0.0, 0.0]]] * 2


def test_ranges_that_do_not_fit_are_refused(run: Run) -> None:
    def train() -> None:
        with tidegate.session() as s:
            w = s.table("w", (10, 3), optimizer=tidegate.sgd(1.0).for_ranges())
            eager = s.table("eager", 4)
            for ranges, problem in (([(0, 11)], "its rows are 0 to 10"), ([(-1, 2)], "reach from -1"),
                                    ([3, 4], "pairs"), ([(0.5, 2.0)], "pairs"), ([(0, 1), (2,)], "pairs"), ([[]], "pairs"),
                                    (np.zeros((3, 0), int), "pairs"), (np.array([(3, 1)], np.uint64), "has no elements"), ([(4, 4)], "has no elements"),
                                    ([(0, 5), (4, 6)], "do not overlap")):
                with pytest.raises(tidegate.InvalidArgumentError, match=problem):
                    w.pull(ranges=ranges)
            with pytest.raises(tidegate.InvalidArgumentError, match=r"has shape \(2, 3\); the ranges have \(5, 3\)"):
                w.push(np.ones((2, 3), np.float32), ranges=[(0, 5)])
            with pytest.raises(tidegate.InvalidArgumentError, match="optimizer.lazy: true"):
                eager.push(ranges=[(0, 1)])
            with pytest.raises(tidegate.InvalidArgumentError, match="is a View; it must be a numpy array"):
                w.push(w.grad[2:4], ranges=[(1, 2), (5, 6)])
            w.push(ranges=[])
            s.clock()

    assert run(train, workers=1).state == "done"


@pytest.mark.parametrize("settings", [{}, {"cluster.transport": "tcp"}, {"cluster.shards.device": "emulated:3"}])
def test_functions_of_tables_are_computed_by_shards(run: Run, settings: "dict[str, Any]") -> None:
    def train() -> "list[float]":
        with tidegate.session() as s:
            t = s.table("t", (60, 50), optimizer=tidegate.sgd(1.0), init=0.0)
            gradient = np.zeros((60, 50), np.float32)
            gradient[::2, s.rank] = -1.5
            t.grad[...] = gradient
            s.exchange([t])
            value = t.value
            found = [float(t.call(name)) for name in ("sum", "sum_of_magnitudes", "sum_of_squares", "min", "max",
                                                      "count_nonzero", "count_not_finite")]
            found.append(float(t.call("count_above", 0.5)))
            assert float(value.sum()) == found[0]  # the view is as it was
            with pytest.raises(tidegate.NotFoundError, match="count_nonzero"):
                t.call("no such function")
            with pytest.raises(tidegate.InvalidArgumentError, match="arguments"):
                t.call("sum", 1.0)
            with pytest.raises(tidegate.InvalidArgumentError, match="32"):
                t.call("sum", *range(33))
            return found

    result = run(train, workers=2, shards=2, set={"cluster.chunk_bytes": "4KiB", **settings})
    assert result.returns == [[45.0, 45.0, 33.75, 0.0, 0.75, 60.0, 0.0, 60.0]] * 2
