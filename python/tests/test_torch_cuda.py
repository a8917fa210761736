"""tidegate.torch with parameters on a GPU; skipped where torch has none."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import tidegate

torch = pytest.importorskip("torch", reason="scripts/test --without torch")
if not torch.cuda.is_available():
    pytest.skip("torch has no GPU to use", allow_module_level=True)

Run = Callable[..., tidegate.Result]
HERE = Path(__file__).resolve().parents[2]
DEVICE = "cuda:0"
SHAPES = ((300, 40), (40,), (17, 5, 3))


def slope(rank: int, step: int, index: int) -> "torch.Tensor":
    noise = np.random.default_rng((rank, step, index)).standard_normal(SHAPES[index], dtype=np.float32)
    return torch.from_numpy(noise)


def train(device: str, steps: int, kill_at: int, options: "dict[str, Any]") -> "list[bytes]":
    """A loss whose gradients are the slopes, bit for bit, wherever it is computed."""
    from tidegate.torch import DistributedOptimizer

    with tidegate.session() as s:
        named = [(f"p{i}", torch.nn.Parameter(torch.full(shape, 0.5, device=device))) for i, shape in enumerate(SHAPES)]
        opt = DistributedOptimizer(tidegate.adam(0.01), named, **options)
        for step in range(opt.steps, steps):
            opt.zero_grad()
            sum((p * slope(s.rank, step, i).to(device)).sum() for i, (_, p) in enumerate(named)).backward()
            if step == kill_at and s.rank == 1 and s.incarnation == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            opt.step()
        opt.pull_final()
        return [p.detach().cpu().numpy().tobytes() for _, p in named]


@pytest.mark.parametrize("options", [{}, {"bucket_bytes": 4096}, {"in_place": True}])
@pytest.mark.parametrize("shards", [{}, {"cluster.shards.device": DEVICE}])
def test_the_bits_of_the_host(run: Run, shards: "dict[str, Any]", options: "dict[str, Any]") -> None:
    expected = run(train, args=("cpu", 6, -1, {}), workers=2, shards=2)
    result = run(train, args=(DEVICE, 6, 3, options), workers=2, shards=2, set={"cluster.chunk_bytes": "4KiB", **shards})
    assert result.parameters_sha256 == expected.parameters_sha256
    assert result.returns == expected.returns


def test_tensors_are_views_of_tables(run: Run) -> None:
    def train() -> bool:
        with tidegate.session() as s:
            s.use_device(DEVICE, stream=torch.cuda.current_stream().cuda_stream)
            t = s.table("t", (200, 30), optimizer=tidegate.sgd(1.0), init=1.0)
            t.pull()
            assert t.value.__dlpack_device__() == (2, 0)
            assert bool((torch.from_dlpack(t.value) == 1.0).all())
            torch.from_dlpack(t.grad).copy_(torch.full((200, 30), 0.25, device=DEVICE))
            t.push()
            s.clock()
            t.pull()
            assert bool((torch.from_dlpack(t.value) == 0.75).all())
            t.push(torch.full((200, 30), 0.25, device=DEVICE))
            s.clock()
            out = torch.zeros(200, 30, device=DEVICE)
            t.pull(out)
            return bool((out == 0.5).all())

    result = run(train, workers=1, shards=1, set={"cluster.shards.device": DEVICE})
    assert result.returns == [True]


@pytest.mark.skipif(not Path("/usr/share/datasets/fashion-mnist").exists(), reason="no dataset-fashion-mnist here")
def test_the_cnn_learns_and_survives_kills(tmp_path: Path) -> None:
    command = json.dumps([sys.executable, str(HERE / "examples/pytorch/fashion_mnist.py"), "--epochs", "1",
                          "--images", "15000", "--device", "cuda"])

    def train_cnn(name: str, **settings: object) -> tidegate.Result:
        return tidegate.launch(HERE / "examples/pytorch/fashion_mnist.yaml", run_dir=tmp_path / name, set={
            "jobs.cnn.command": command, "jobs.cnn.workers": 2,
            "cluster.shards": f'{{count: 1, device: "{DEVICE}"}}', **settings})

    calm = train_cnn("calm")
    assert calm.metrics["test_accuracy"] > 0.7
    rough = train_cnn("rough", **{"faults.at": "{clock 50: kill worker-cnn-1, clock 120: kill shard-0}"})
    assert rough.parameters_sha256 == calm.parameters_sha256
