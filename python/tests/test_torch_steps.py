"""Steps of tidegate.torch that differ from clock to clock: scheduled rates, and workers without samples."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import tidegate

torch = pytest.importorskip("torch", reason="scripts/test --without torch")

from test_torch import batch_of, in_shards, model_of, on_workers  # noqa: E402

pytestmark = pytest.mark.usefixtures("workers_with_torch")
Run = Callable[..., tidegate.Result]


def make_step(model: Any, opt: Any, rank: int, step: int) -> None:
    opt.zero_grad()
    x, y = batch_of(rank, step)
    torch.nn.functional.cross_entropy(model(x), y).backward()
    opt.step()


def test_a_scheduler_of_torch_sets_the_rate_of_shards(run: Run) -> None:
    def train_scheduled() -> "dict[str, Any]":
        from tidegate.torch import DistributedOptimizer

        with tidegate.session() as session:
            model = model_of(seed=0)
            opt = DistributedOptimizer(tidegate.momentum(0.1), model.named_parameters())
            scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
            for _ in range(opt.steps):  # in the place of a dead process
                scheduler.step()
            for step in range(opt.steps, 5):
                if step == 3 and session.rank == 0 and session.incarnation == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                make_step(model, opt, session.rank, step)
                scheduler.step()
            return {n: p.detach().numpy().copy() for n, p in model.named_parameters()}

    model = model_of(seed=0)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
    for step in range(5):
        opt.zero_grad()
        for rank in range(2):
            x, y = batch_of(rank, step)
            (torch.nn.functional.cross_entropy(model(x), y) / 2).backward()
        opt.step()
        scheduler.step()
    for parameters in run(train_scheduled, workers=2, shards=2).returns:
        for name, parameter in model.named_parameters():
            np.testing.assert_allclose(parameters[name], parameter.detach().numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("place", ["shards", "workers"])
def test_a_worker_without_samples_skips_a_step_and_has_what_the_others_found(run: Run, place: str) -> None:
    def train_unevenly() -> "dict[str, Any]":
        with tidegate.session() as session:
            model = model_of(seed=0)
            opt = (in_shards if place == "shards" else on_workers)(model)
            for step in range(opt.steps, 4):
                opt.zero_grad()
                if session.rank == 1 and step % 2 == 1:
                    opt.skip()
                    continue
                x, y = batch_of(session.rank, step)
                torch.nn.functional.cross_entropy(model(x), y).backward()
                opt.step()
            return {n: p.detach().numpy().copy() for n, p in model.named_parameters()}

    model = model_of(seed=0)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(4):
        opt.zero_grad()
        for rank in range(2 if step % 2 == 0 else 1):
            x, y = batch_of(rank, step)
            (torch.nn.functional.cross_entropy(model(x), y) / 2).backward()
        opt.step()
    for parameters in run(train_unevenly, workers=2).returns:
        for name, parameter in model.named_parameters():
            np.testing.assert_allclose(parameters[name], parameter.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_parameters_in_place_are_those_that_copies_are(run: Run) -> None:
    def train(in_place: bool) -> "tuple[dict[str, Any], bool]":
        from tidegate.torch import DistributedOptimizer

        with tidegate.session() as session:
            model = model_of(seed=session.rank)  # those of worker 0 count
            opt = DistributedOptimizer(tidegate.adam(0.01), model.named_parameters(), in_place=in_place)
            for step in range(opt.steps, 6):
                if step == 3 and session.rank == 1 and session.incarnation == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                make_step(model, opt, session.rank, step)
            opt.pull_final()
            shares = all(p.data_ptr() == session._native.parameters_at(session.tables[n]._table)
                         for n, p in model.named_parameters())
        return {n: p.detach().numpy().copy() for n, p in model.named_parameters()}, shares

    copied, mapped = (run(train, workers=2, shards=2, replicas=1, args=(in_place,)) for in_place in (False, True))
    assert copied.parameters_sha256 == mapped.parameters_sha256
    assert [shares for _, shares in copied.returns] == [False, False]
    assert [shares for _, shares in mapped.returns] == [True, True]
    for (expected, _), (found, _) in zip(copied.returns, mapped.returns):
        for name, value in expected.items():
            np.testing.assert_array_equal(found[name], value)


def test_parameters_in_place_end_whoever_writes_to_them(run: Run) -> None:
    def write() -> None:
        from tidegate.torch import DistributedOptimizer

        with tidegate.session():
            model = model_of(seed=0)
            DistributedOptimizer(tidegate.sgd(0.01), model.named_parameters(), in_place=True)
            with torch.no_grad():
                next(model.parameters()).add_(1)

    with pytest.raises(tidegate.LaunchError, match="SIGSEGV"):
        run(write, set={"jobs.write.on_worker_loss": "fail", "cluster.chunk_bytes": "4KiB"})


@pytest.mark.parametrize("consistency, dtype, inner, text", [
    ("ssp:1", "float32", False, "must be bsp"), ("bsp", "float16", False, "shards keep float32"),
    ("bsp", "float32", True, "a torch optimizer writes")])
def test_parameters_in_place_ask_for_what_makes_them_possible(run: Run, consistency: str, dtype: str, inner: bool,
                                                              text: str) -> None:
    def make() -> str:
        from tidegate.torch import DistributedOptimizer

        with tidegate.session():
            model = torch.nn.Linear(3, 2).to(getattr(torch, dtype))
            spec = torch.optim.SGD(model.parameters(), lr=0.1) if inner else tidegate.sgd(0.1)
            try:
                DistributedOptimizer(spec, model.named_parameters(), in_place=True)
            except tidegate.InvalidArgumentError as error:
                return str(error)
        return "made"

    assert text in run(make, consistency=consistency).returns[0]


def test_a_model_in_place_is_its_own_when_the_session_has_ended(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("""
import tidegate, torch
from tidegate.torch import DistributedOptimizer

torch.manual_seed(0)
model = torch.nn.Linear(3, 2)
with tidegate.session() as session:
    opt = DistributedOptimizer(tidegate.sgd(0.5), model.named_parameters(), in_place=True)
    for step in range(opt.steps, 3):
        opt.zero_grad()
        model(torch.ones(1, 3)).sum().backward()
        opt.step()
    opt.pull_final()
    before = [p.detach().clone() for p in model.parameters()]
    names = [p.data_ptr() for p in model.parameters()]
with torch.no_grad():
    for p, value, name in zip(model.parameters(), before, names):
        assert torch.equal(p, value) and p.data_ptr() != name
        p.add_(1)  # it is the program's
print("read and written")
""")
    (tmp_path / "c.yaml").write_text(f"""
cluster: {{name: c, shards: 1}}
jobs: {{train: {{command: [{sys.executable}, {tmp_path / "train.py"}], on_worker_loss: fail}}}}
""")
    result = tidegate.launch(tmp_path / "c.yaml", run_dir=tmp_path / "run")
    assert result.job.state == "done"
    assert "read and written" in (result.run_dir / "logs" / "worker-train-0.log").read_text()


@pytest.mark.parametrize("keeps", [True, False])
def test_memory_of_large_gradients_is_kept_from_step_to_step(run: Run, keeps: bool) -> None:
    def faults_of_steps(keeps: bool) -> int:
        import resource

        from tidegate.torch import DistributedOptimizer

        torch.set_num_threads(1)
        with tidegate.session():
            model = torch.nn.Linear(2048, 6144, bias=False)  # 48 MiB: more than glibc keeps by itself
            opt = DistributedOptimizer(tidegate.sgd(0.1), model.named_parameters(), keep_memory=keeps)
            before = 0
            for step in range(40):
                if step == 24:  # the heap has found its places
                    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
                opt.zero_grad()
                model(torch.ones(1, 2048)).sum().backward()
                opt.step()
            return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    pages = 16 * (48 << 20) // os.sysconf("SC_PAGE_SIZE")
    faults = run(faults_of_steps, args=(keeps,)).returns[0]
    if keeps:
        assert faults < pages / 4, faults
    else:  # huge pages, where the kernel gives any, are 512 at a time
        assert faults > pages / 1000, faults
