"""State that outlives a worker's process, and samplers that keep their position in it."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np
import pytest
import tidegate
from tidegate.data import Sampler, sampler

Run = Callable[..., tidegate.Result]

OFTEN = {"supervision.worker.max_restarts": 1000, "supervision.worker.backoff": "1ms"}


def test_values_of_every_kind_come_back_in_another_process(run: Run) -> None:
    def train() -> bool:
        import signal

        values: dict[str, Any] = {
            "bytes": b"\x00\xff", "text": "ünï", "yes": True, "no": False, "int": -(2**80), "float": 0.1,
            "array": np.arange(6, dtype=np.float16).reshape(2, 3).T, "empty": np.empty((0, 4)),
            "scalar": np.float32(1.5), "words": np.array(["a", "bc"]), "bits": np.array([True, False])}

        def same(kept: Any, value: Any) -> bool:
            if isinstance(value, (np.ndarray, np.generic)):
                return bool(kept.dtype == value.dtype and kept.shape == value.shape and (kept == value).all())
            return type(kept) is type(value) and kept == value

        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))
            if s.incarnation == 1:
                assert len(s.state) == 0 and "int" not in s.state and not s.state.lost
                assert s.state.older is None
                with pytest.raises(tidegate.NotFoundError, match="no older state"):
                    s.state.use_older()
                s.state.update(values)
            else:
                assert s.now == 1 and s.state["count"] == 1, s.state
                s.state["count"] = 1
            assert sorted(s.state) == sorted([*values, *(["count"] if s.incarnation > 1 else [])])
            assert all(same(s.state[name], value) for name, value in values.items())
            with pytest.raises(ValueError):
                s.state["array"][0, 0] = 1  # a copy; to change it is to set it
            s.state["count"] = s.state.get("count", 0) + 1
            w.push()
            s.clock()
            if s.incarnation == 1:
                w.pull()  # so that clock 0 is applied
                s.state["count"] = "never committed"
                os.kill(os.getpid(), signal.SIGKILL)
            assert s.state.pop("int") == -(2**80)
            with pytest.raises(KeyError):
                s.state["int"]
            s.state.clear()
            assert dict(s.state) == {} and repr(s.state) == "<state of nothing>"
        return True

    assert run(train, set=OFTEN).returns == [True]


def test_what_cannot_be_kept_is_told_and_nothing_changes(run: Run) -> None:
    def train() -> list[str]:
        said = []
        with tidegate.session() as s:
            w = s.table("w", 10, optimizer=tidegate.sgd(1.0))
            s.state["a"] = 1
            wrong: list[tuple[Any, Any]] = [("a", [1]), ("a", {"b": 1}), ("a", None), ("a", np.array([object()])),
                                            (1, 1), ("", 1), ("x" * 129, 1), ("large", bytes(5000))]
            for name, value in wrong:
                try:
                    s.state[name] = value
                except (TypeError, tidegate.TidegateError) as error:
                    said.append(f"{type(error).__name__}: {error}")
            w.push().wait()
            try:
                s.state["a"] = 2
            except tidegate.OutOfOrderError as error:
                said.append(f"{type(error).__name__}: {error}")
            assert dict(s.state) == {"a": 1}
            s.clock()
            s.state["a"] = 2
        return said

    said = run(train, set={"jobs.train.state.max": "4KiB"}).returns[0]
    assert [text.split(":")[0] for text in said] == ["TypeError"] * 5 + ["InvalidArgumentError"] * 2 + [
        "OverLimitError", "OutOfOrderError"]
    assert "Nothing is pickled" in said[0] and "state.max allows 4096" in said[7] and "has left" in said[8]


def test_a_job_without_state_says_so(run: Run) -> None:
    def train() -> str:
        with tidegate.session() as s:
            s.table("w", 10, optimizer=tidegate.sgd(1.0))
            with pytest.raises(tidegate.UnavailableError) as refused:
                s.state["a"] = 1
            s.clock()
            return str(refused.value)

    assert "jobs.*.state.max" in run(train, set={"jobs.train.state.max": 0}).returns[0]


@pytest.mark.parametrize("consistency", ["bsp", "ssp:2", "async"])
def test_no_sample_is_lost_or_seen_twice_under_kills(run: Run, consistency: str) -> None:
    """Each batch is pushed as ones in the places of its samples: after three epochs every sum is 3."""
    length, epochs, workers = 997, 3, 3

    def train() -> tuple[int, int]:
        import random
        import signal
        import threading
        import time

        with tidegate.session() as s:
            seen = s.table("seen", length, optimizer=tidegate.sgd(1.0))
            other = s.table("other", 5, optimizer=tidegate.sgd(1.0))
            batches = tidegate.data.sampler(length, s, batch=8)

            def die() -> None:
                time.sleep(random.Random(1000 * s.rank + s.incarnation).uniform(0, 0.3))
                os.kill(os.getpid(), signal.SIGKILL)

            if s.incarnation < 8:
                threading.Thread(target=die, daemon=True).start()
            while batches.epoch < epochs:
                for indices in batches:
                    ones = np.zeros(length, np.float32)
                    np.add.at(ones, indices, 1)
                    seen.grad[:] = ones
                    s.state["pushed"] = s.state.get("pushed", 0) + len(indices)
                    time.sleep(0.003)
                    seen.push()
                    other.grad[:] = 1
                    other.push()
                    s.clock()
            seen.pull_final()
            assert (np.asarray(seen.value) == -epochs).all(), np.unique(np.asarray(seen.value), return_counts=True)
            return int(s.state["pushed"]), s.incarnation

    result = run(train, workers=workers, shards=2, reduce="sum", consistency=consistency, set=OFTEN)
    assert sum(pushed for pushed, _ in result.returns) == length * epochs
    assert all(incarnation > 1 for _, incarnation in result.returns), "the first process dies within its time"


class FakeSession:
    """What a sampler needs of a session."""

    def __init__(self, rank: int = 0, size: int = 1, seed: int = 1) -> None:
        self.rank, self.size, self.seed = rank, size, seed
        self.state: dict[str, Any] = {}


def of(session: FakeSession, length: int, **options: Any) -> Sampler:
    options.setdefault("batch", 4)
    return sampler(length, session, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("length,size", [(1, 1), (10, 3), (96, 3), (97, 3), (2, 3)])
def test_an_epoch_has_each_sample_once(length: int, size: int) -> None:
    for epoch in range(3):
        all_batches = []
        for rank in range(size):
            batches = of(FakeSession(rank, size), length)
            for _ in range(epoch):
                list(batches)
            assert batches.epoch == epoch
            handed_out = list(batches)
            assert len(handed_out) == batches.steps == len(batches)
            all_batches += handed_out
        assert sorted(np.concatenate(all_batches).tolist()) == list(range(length))


def test_orders_differ_by_epoch_and_seed_and_not_by_process() -> None:
    def epochs(seed: int) -> list[list[int]]:
        batches = of(FakeSession(seed=seed), 50)
        return [np.concatenate(list(batches)).tolist() for _ in range(2)]

    assert epochs(1) == epochs(1) and epochs(1)[0] != epochs(1)[1] and epochs(1)[0] != epochs(2)[0]
    plain = of(FakeSession(1, 2), 10, shuffle=False)
    assert np.concatenate(list(plain)).tolist() == [1, 3, 5, 7, 9]


def test_another_process_goes_on_after_the_last_clock() -> None:
    """Every third process dies before the clock ends in which it was handed a batch."""
    whole = of(FakeSession(1, 2), 30)
    expected = [batch.tolist() for _ in range(2) for batch in whole]
    session, trained, lives = FakeSession(1, 2), [], 0
    while len(trained) < len(expected):
        committed = dict(session.state)
        lives += 1
        batch = next(iter(of(session, 30))).tolist()
        if lives % 3 == 0:
            session.state = committed
        else:
            trained.append(batch)
    assert trained == expected and of(session, 30).epoch == 2


def test_a_loop_that_breaks_goes_on_with_the_next_batch() -> None:
    batches = of(FakeSession(), 20, shuffle=False)
    assert [next(iter(batches)).tolist() for _ in range(2)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert batches.step == 2 and batches.epoch == 0
    assert len(list(batches)) == 3 and batches.epoch == 1 and batches.step == 0


def test_the_generator_follows_from_rank_and_step() -> None:
    def draws(rank: int) -> list[float]:
        batches = of(FakeSession(rank, 2), 20)
        return [batches.rng.random() for _ in batches]

    assert draws(0) == draws(0) and len(set(draws(0) + draws(1))) == 6


def test_other_options_than_the_process_before_are_refused() -> None:
    session = FakeSession()
    of(session, 20)
    of(session, 20)
    for options in ({"batch": 5}, {"seed": 7}, {"shuffle": False}, {"drop_last": True}):
        with pytest.raises(tidegate.InvalidArgumentError, match="goes on with other data or options"):
            of(session, 20, **options)
    with pytest.raises(tidegate.InvalidArgumentError, match="goes on with other data"):
        of(session, 21)
    of(session, 21, name="another")
    session.state["sampler"] = 5
    with pytest.raises(tidegate.InvalidArgumentError, match="not a sampler's"):
        of(session, 20)


def test_sizes_that_make_no_sense_are_refused() -> None:
    for options in ({"batch": 0}, {"batch": True}, {"batch": 1.5}):
        with pytest.raises(tidegate.InvalidArgumentError, match="batch of a sampler"):
            of(FakeSession(), 20, **options)
    with pytest.raises(tidegate.InvalidArgumentError, match="length of a sampler"):
        of(FakeSession(), 0)
    with pytest.raises(tidegate.InvalidArgumentError, match="drop_last leaves none"):
        of(FakeSession(0, 2), 7, drop_last=True)
    assert of(FakeSession(0, 2), 17, drop_last=True).steps == 2
    assert of(FakeSession(), 17).batch_size == 4
    assert sampler([1, 2, 3], FakeSession(), batch=2).length == 3  # type: ignore[arg-type]


def test_shares_stay_when_the_number_of_workers_changes() -> None:
    session = FakeSession(0, 2)
    of(session, 20, shuffle=False)
    session.size = 4
    assert np.concatenate(list(of(session, 20, shuffle=False))).tolist() == list(range(0, 20, 2))
