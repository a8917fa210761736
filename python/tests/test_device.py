"""Tables on a device, here on one that needs no GPU."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np
import pytest
import tidegate
from tidegate._device import DeviceArray

Run = Callable[..., tidegate.Result]
DEVICE = os.environ.get("TIDEGATE_TEST_GPU", "emulated:3")
CUDA = DEVICE.startswith("cuda:")


def gradient(s: tidegate.Session, shape: tuple[int, ...], value: Any) -> Any:
    """Follows from what was read, the rank and the clock."""
    noise = np.random.default_rng((s.rank, s.now)).random(shape, dtype=np.float32)
    return np.float32(0.25) * np.asarray(value) + noise


def train(device: str, way: str) -> str:
    with tidegate.session() as s:
        if device:
            s.use_device(device)
        w = s.table("w", (60, 50), optimizer=tidegate.adam(0.01), init=1.0)
        b = s.table("b", 7, optimizer=tidegate.momentum(0.1), init=0.5)
        tables = [w, b]
        while s.now < 12:
            if way != "exchange" or s.now == 0:
                for t in tables:
                    t.pull()
            for t in tables:
                value = t.value.numpy() if device else np.array(t.value)
                t.grad[...] = gradient(s, t.shape, value)
            if way == "exchange":
                s.exchange(tables)
                continue
            for t in tables:
                t.push()
            s.clock()
        return str(w.device)


@pytest.mark.parametrize("way", ["exchange", "push"])
@pytest.mark.parametrize("shards", [None, DEVICE])
def test_the_bits_of_the_host(run: Run, way: str, shards: str | None) -> None:
    expected = run(train, args=("", way), workers=2, shards=2)
    more = {} if shards is None else {"cluster.shards.device": shards}
    result = run(train, args=(DEVICE, way), workers=2, shards=2, set={"cluster.chunk_bytes": "4KiB", **more})
    assert result.parameters_sha256 == expected.parameters_sha256
    assert expected.returns == ["None"] * 2 and result.returns == [DEVICE] * 2


def test_arrays_of_the_device(run: Run) -> None:
    def train() -> list[str]:
        with tidegate.session() as s:
            host = s.table("h", 3, optimizer=tidegate.sgd(1.0), init=1.0)
            s.use_device(DEVICE)
            t = s.table("t", (2, 3), optimizer=tidegate.sgd(1.0), init=1.0)
            assert host.device is None and t.device == s.device == DEVICE
            t.pull()
            value = t.value
            assert value.shape == (2, 3) and value.size == 6 and value.dtype == np.float32 and value.is_valid
            assert (value.numpy() == 1.0).all() and repr(value) == f"<t.value (2, 3) on {DEVICE}>"
            assert hasattr(value, "__cuda_array_interface__") == CUDA
            if not CUDA:
                with pytest.raises(BufferError, match="no|not"):
                    value.__dlpack__()
                as_cuda = DeviceArray(value._lease, value._native, value._address, False, value.shape, "cuda:0")
                assert '"dltensor"' in repr(as_cuda.__dlpack__())
            with pytest.raises(tidegate.InvalidArgumentError, match="for reading alone"):
                value[...] = 2.0
            with pytest.raises(tidegate.InvalidArgumentError, match="set as a whole"):
                t.grad[0] = 1.0
            with pytest.raises(tidegate.InvalidArgumentError, match="another"):
                s.use_device("emulated:4")
            with pytest.raises(ValueError):
                t.grad[...] = np.zeros(4)
            t.grad[...] = np.arange(6).reshape(2, 3)
            gradient = t.grad
            t.push()
            host.push(np.zeros(3, np.float32))
            for ended in (value, gradient):
                assert not ended.is_valid
                with pytest.raises(tidegate.InvalidViewError):
                    ended.numpy()
            s.clock()
            t.pull()
            assert (t.value.numpy() == 1.0 - np.arange(6).reshape(2, 3)).all()
            # In memory of the program's own: a device's, here that of the gradient, and the host's.
            t.pull(t.grad)
            assert (t.grad.numpy() == t.value.numpy()).all()
            out = np.zeros((2, 3), np.float32)
            t.pull(out)
            assert (out == 1.0 - np.arange(6).reshape(2, 3)).all()
            t.push(np.ones((2, 3), np.float32))
            s.clock()
            t.pull_final(out)
            assert (out == -np.arange(6).reshape(2, 3)).all()
        return []

    assert run(train, workers=1, shards=1, set={"cluster.shards.device": DEVICE}).state == "done"


def test_a_gradient_that_is_not_finite_is_refused(run: Run) -> None:
    def train() -> None:
        with tidegate.session() as s:
            s.use_device(DEVICE)
            t = s.table("t", 100)
            gradient = np.zeros(100, np.float32)
            gradient[37] = np.nan
            t.grad[...] = gradient
            with pytest.raises(tidegate.NotFiniteError, match="element 37"):
                s.exchange([t])
            gradient[37] = 0
            t.grad[...] = gradient
            s.exchange([t])
            gradient[37] = np.inf
            t.grad[...] = gradient
            with pytest.raises(tidegate.NotFiniteError, match="element 37"):
                t.push().wait()

    assert run(train, workers=1, shards=1).state == "done"


def test_a_device_that_is_not_there(run: Run) -> None:
    def train() -> None:
        with tidegate.session() as s:
            with pytest.raises(tidegate.InvalidArgumentError, match="nonsense"):
                s.use_device("nonsense")
            with pytest.raises(tidegate.TidegateError, match="cuda:1023"):
                s.use_device("cuda:1023")
            assert s.device is None and s.table("t", 3).device is None

    assert run(train, workers=1, shards=1).state == "done"
