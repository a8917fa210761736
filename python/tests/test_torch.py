"""tidegate.torch: models whose parameters live in shards."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import tidegate

torch = pytest.importorskip("torch", reason="scripts/test --without torch")

pytestmark = pytest.mark.usefixtures("workers_with_torch")
Run = Callable[..., tidegate.Result]


def model_of(seed: int) -> "torch.nn.Module":
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 5))


def batch_of(rank: int, step: int) -> "tuple[torch.Tensor, torch.Tensor]":
    generator = torch.Generator().manual_seed(1000 * step + rank)
    return torch.randn(16, 20, generator=generator), torch.randint(0, 5, (16,), generator=generator)


def digest_of(model: "torch.nn.Module") -> str:
    import hashlib

    whole = b"".join(p.detach().numpy().tobytes() for p in model.parameters())
    return hashlib.sha256(whole).hexdigest()


def train(make: Callable[..., Any], steps: int = 6, kill_at: int = -1) -> "dict[str, Any]":
    import os
    import signal

    from tidegate.torch import rank

    session = tidegate.session()
    model = model_of(seed=session.rank)  # worker 0's is handed out
    start = digest_of(model)
    opt = make(model)
    handed_out = digest_of(model)
    with session:
        for step in range(opt.steps, steps):
            x, y = batch_of(rank(), step)
            opt.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            if step == kill_at and session.incarnation == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            opt.step()
        opt.pull_final()
        return {"start": start, "handed_out": handed_out, "end": digest_of(model),
                "parameters": {n: p.detach().numpy().copy() for n, p in model.named_parameters()}}


def in_shards(model: "torch.nn.Module", **options: Any) -> Any:
    from tidegate.torch import DistributedOptimizer

    return DistributedOptimizer(tidegate.momentum(0.1), model.named_parameters(), **options)


def on_workers(model: "torch.nn.Module", **options: Any) -> Any:
    from tidegate.torch import DistributedOptimizer

    return DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), model.named_parameters(),
                                reduce_only=True, **options)


def alone(steps: int = 6, workers: int = 2) -> "dict[str, np.ndarray]":
    """The same training in one process."""
    model = model_of(seed=0)
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        opt.zero_grad()
        for rank in range(workers):
            x, y = batch_of(rank, step)
            (torch.nn.functional.cross_entropy(model(x), y) / workers).backward()
        opt.step()
    return {n: p.detach().numpy().copy() for n, p in model.named_parameters()}


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> tidegate.Result:
    """A run of two workers to compare others with: to import torch in each worker is what takes the time here."""
    return tidegate.spawn(train, workers=2, shards=2, args=(in_shards,), run_dir=tmp_path_factory.mktemp("calm") / "run")


@pytest.mark.parametrize("make", [in_shards, on_workers])
def test_trains_as_one_process_would(run: Run, calm: tidegate.Result, make: Callable[..., Any]) -> None:
    returns = (calm if make is in_shards else run(train, workers=2, shards=2, args=(make,))).returns
    assert returns[0]["start"] != returns[1]["start"]
    assert returns[0]["handed_out"] == returns[1]["handed_out"] == returns[0]["start"]
    assert returns[0]["end"] == returns[1]["end"]
    for name, expected in alone().items():
        np.testing.assert_allclose(returns[0]["parameters"][name], expected, rtol=2e-5, atol=1e-6)


def test_ways_to_push_come_to_the_same_bits(run: Run, calm: tidegate.Result) -> None:
    """The calm run has pushed all in one bucket."""

    def many_buckets(model: Any) -> Any:
        return in_shards(model, bucket_bytes=1)

    def at_the_end(model: Any) -> Any:
        return in_shards(model, overlap=False)

    for shards, make in ((1, many_buckets), (3, at_the_end)):
        assert run(train, workers=2, shards=shards, args=(make,)).parameters_sha256 == calm.parameters_sha256


def test_a_killed_worker_goes_on_where_it_was(run: Run, calm: tidegate.Result) -> None:
    rough = run(train, workers=2, shards=2, replicas=1, args=(in_shards,), kwargs={"kill_at": 3})
    assert rough.parameters_sha256 == calm.parameters_sha256
    assert rough.returns[0]["end"] == calm.returns[0]["end"]


def test_half_precision_has_float32_sums(run: Run) -> None:
    dtypes = ("float16", "bfloat16")

    def train_half() -> "list[tuple[np.ndarray, np.ndarray]]":
        from tidegate.torch import DistributedOptimizer

        with tidegate.session() as s:
            named = [(name, torch.nn.Parameter(torch.full((3, 700), 1.0, dtype=getattr(torch, name)).t()))
                     for name in dtypes]
            opt = DistributedOptimizer(tidegate.sgd(1.0), named)
            for step in range(opt.steps, 3):
                opt.zero_grad()
                for _, p in named:
                    (p.float() * 2.0 ** -12 * (s.rank + 1)).sum().backward()
                opt.step()
            found = []
            for name, p in named:
                s.tables[name].pull()
                found.append((np.array(s.tables[name].value), p.detach().float().numpy()))
            return found

    for dtype, (exact, rounded) in zip(dtypes, run(train_half, workers=2, reduce="sum").returns[0], strict=True):
        assert (exact == np.float32(1 - 3 * 3 * 2.0 ** -12)).all()
        assert (rounded == torch.tensor(exact[0, 0]).to(getattr(torch, dtype)).float().item()).all()


def test_gradients_accumulate_over_passes(run: Run) -> None:
    def accumulate() -> str:
        from tidegate.torch import DistributedOptimizer

        with tidegate.session():
            p = torch.nn.Parameter(torch.ones(1000))
            opt = DistributedOptimizer(tidegate.sgd(0.5), [("p", p)], backward_passes_per_step=2)
            for step in range(opt.steps, 2):
                opt.zero_grad(set_to_none=step == 0)
                for _ in range(2):
                    (p * 0.25).sum().backward()
                opt.step()
            value = p[0].item()
            opt.zero_grad()
            for _ in range(2):
                (p * 0.25).sum().backward()
            try:
                (p * 0.25).sum().backward()
                return "not refused"
            except tidegate.OutOfOrderError as error:
                opt.step()
                return f"{value} {error}"

    for said in run(accumulate, workers=2).returns:
        assert said.startswith("0.5 ") and "computed 3 times" in said and "backward_passes_per_step=3" in said, said


def test_clipping_and_schedulers_of_a_torch_optimizer(run: Run) -> None:
    def clip() -> "list[float]":
        from tidegate.torch import DistributedOptimizer

        with tidegate.session() as s:
            p = torch.nn.Parameter(torch.zeros(4))
            inner = torch.optim.SGD([p], lr=1.0)
            opt = DistributedOptimizer(inner, [("p", p)], reduce_only=True)
            schedule = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
            norms = []
            for step in range(3):
                opt.zero_grad()
                (p * (6.0 if s.rank else 2.0)).sum().backward()
                opt.synchronize()
                norms.append(float(torch.nn.utils.clip_grad_norm_([p], 1.0)))
                with opt.skip_synchronize():
                    opt.step()
                schedule.step()
            return norms + p.detach().tolist()

    # The mean of 2 and 6 in four elements has norm 8; clipped to 1 each element moves by 0.5 of the rate.
    for returned in run(clip, workers=2).returns:
        np.testing.assert_allclose(returned, [8, 8, 8] + [-0.5 * 1.75] * 4, rtol=1e-5)


def test_horovods_names(run: Run) -> None:
    def train_as_horovod() -> "list[Any]":
        import tidegate.torch as hvd

        hvd.init()
        torch.manual_seed(hvd.rank())
        model = torch.nn.Linear(3, 2)
        opt = torch.optim.Adam(model.parameters(), lr=0.01)
        distributed = hvd.DistributedOptimizer(opt, named_parameters=model.named_parameters())
        first = model.weight.detach().clone()
        hvd.broadcast_parameters(model.state_dict(), root_rank=1)
        assert torch.equal(first, model.weight)
        distributed.zero_grad()
        model(torch.ones(4, 3) * (hvd.rank() + 1)).sum().backward()
        distributed.step()
        hvd.broadcast_optimizer_state(opt, root_rank=0)
        config = hvd.broadcast_object({"name": "x", "sizes": [1, 2, hvd.rank()]}, root_rank=1)
        mean = hvd.allreduce(torch.tensor([1.0, 2.0]) * (hvd.rank() + 1))
        total = hvd.allreduce(torch.full((20000,), float(hvd.rank() + 1)), op=hvd.Sum)
        return [config, mean.tolist(), float(total.sum()), hvd.size(), hvd.local_size(), hvd.local_rank(),
                model.weight.detach().numpy().tobytes()]

    returns = run(train_as_horovod, workers=2, reduce="sum").returns
    assert returns[0][-1] == returns[1][-1]
    for rank, returned in enumerate(returns):
        assert returned[:6] == [{"name": "x", "sizes": [1, 2, 1]}, [1.5, 3.0], 60000.0, 2, 2, rank]


def test_a_script_for_horovod_changes_its_import(run: Run) -> None:
    def train_as_horovod() -> "list[Any]":
        import tidegate.torch as hvd

        hvd.init()
        torch.manual_seed(hvd.rank())
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * hvd.size(), momentum=0.5)
        hvd.broadcast_parameters(model.state_dict(), root_rank=0)
        hvd.broadcast_optimizer_state(optimizer, root_rank=0)
        optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters(),
                                             compression=hvd.Compression.none)
        generator = torch.Generator().manual_seed(hvd.rank())
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(torch.randn(6, 4, generator=generator)).square().mean()
            loss.backward()
            optimizer.step()
        mean = hvd.allreduce(loss.detach(), name="avg_loss")
        total = hvd.allreduce(torch.tensor(hvd.rank() + 1.0), op=hvd.Sum)
        sent = hvd.broadcast_object(hvd.rank() + 7, root_rank=1)
        return [loss.item(), digest_of(model), mean.item(), total.item(), sent]

    returns = run(train_as_horovod, workers=2, shards=2).returns  # by the mean, which the test before has not
    assert returns[0][1:] == returns[1][1:]
    assert returns[0][2:] == [pytest.approx((returns[0][0] + returns[1][0]) / 2), 3.0, 8]


def test_models_that_do_not_fit_are_refused(run: Run) -> None:
    def misuse() -> None:
        from tidegate.torch import DistributedOptimizer

        said = []

        def refused(call: Callable[[], Any]) -> None:
            try:
                call()
                said.append("")
            except tidegate.TidegateError as error:
                said.append(str(error))

        def make(p: Any, **options: Any) -> Any:
            return DistributedOptimizer(tidegate.sgd(0.1), [("p", p)], **options)

        with tidegate.session():
            p = torch.nn.Parameter(torch.zeros(4))
            refused(lambda: make(torch.nn.Parameter(torch.zeros(4, dtype=torch.float64))))
            refused(lambda: make(torch.nn.Parameter(torch.zeros(4, device="meta"))))
            refused(lambda: DistributedOptimizer(tidegate.sgd(0.1), []))
            refused(lambda: DistributedOptimizer(tidegate.sgd(0.1), [("p", p), ("p", p)]))
            refused(lambda: make(p, reduce_only=True))
            refused(lambda: DistributedOptimizer(torch.optim.SGD([p], lr=1), [("p", p)], reduce_only=False))
            refused(lambda: DistributedOptimizer(torch.optim.SGD([p], lr=1), [("q", torch.nn.Parameter(torch.ones(2)))]))
            refused(lambda: DistributedOptimizer("adam", [("p", p)]))
            refused(lambda: DistributedOptimizer(tidegate.sgd(0.1)))
            opt = make(p)
            refused(opt.step)
            p.sum().backward()
            refused(opt.zero_grad)
            opt.step()
            opt.zero_grad()
            assert len(said) == 11 and all(said), said
            p.data = torch.zeros(5)
            p.sum().backward()

    with pytest.raises(tidegate.WorkerError, match=r"parameter 'p' was \(4,\) when its optimizer was made"):
        run(misuse)


def test_a_dataloader_with_processes_leaves_the_session_alone(run: Run) -> None:
    def load() -> float:
        from tidegate.torch import DistributedOptimizer

        with tidegate.session() as s:
            p = torch.nn.Parameter(torch.zeros(1))
            opt = DistributedOptimizer(tidegate.sgd(1.0), [("p", p)])
            data = torch.utils.data.TensorDataset(torch.arange(32, dtype=torch.float32))
            for _ in range(2):
                for (x,) in torch.utils.data.DataLoader(data, batch_size=4, num_workers=2):
                    opt.zero_grad()
                    (p * x.mean()).sum().backward()
                    opt.step()
            assert s.now == 17
            return float(p)

    assert run(load, workers=2).returns == [-2 * 8 * 15.5] * 2


def test_the_bits_are_those_of_a_worker_in_cpp(run: Run, tmp_path: Path) -> None:
    """Of the job of tests/support/workload.hpp, whose gradients depend on the parameters, the rank and the clock."""
    clocks, workers, shapes = 12, 3, {"table-0": (300, 300), "table-1": (10,)}
    (tmp_path / "cluster.yaml").write_text(json.dumps({
        "cluster": {"name": "cpp"},
        "jobs": {"workload": {"command": [os.environ["TIDEGATE_BUILD"] + "/tests/e2e_worker", "workload", str(clocks)],
                              "workers": workers, "optimizer": {"name": "adam", "learning_rate": 0.05}}}}))
    expected = tidegate.launch(tmp_path / "cluster.yaml", run_dir=tmp_path / "cpp")

    def first_parameters() -> "dict[str, np.ndarray]":
        with tidegate.session() as s:
            tables = [s.table(name, shape, optimizer=tidegate.adam(0.05), init=tidegate.uniform(1.0))
                      for name, shape in shapes.items()]
            for table in tables:
                table.pull()
            return {table.name: np.array(table.value) for table in tables}

    def mix(x: "np.ndarray") -> "np.ndarray":
        x = x + np.uint64(0x9e3779b97f4a7c15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        return x ^ (x >> np.uint64(31))

    def gradient_of(s: tidegate.Session, clock: int, table: int, parameter: "np.ndarray") -> "np.ndarray":
        key = mix(np.array([s.seed ^ (s.rank * 1000003 + clock * 7919 + table)], np.uint64)) >> np.uint64(32)
        bits = key.astype(np.uint32) ^ (np.arange(parameter.size, dtype=np.uint32) * np.uint32(0x9e3779b9))
        bits = (bits ^ (bits >> np.uint32(16))) * np.uint32(0x7feb352d)
        bits = (bits ^ (bits >> np.uint32(15))) * np.uint32(0x846ca68b)
        bits ^= bits >> np.uint32(16)
        noise = (bits >> np.uint32(8)).astype(np.int32) - np.int32(1 << 23)
        drawn = noise.astype(np.float32) / np.float32(1 << 23)
        return np.float32(0.25) * parameter + drawn.reshape(parameter.shape)

    def train(start: "dict[str, np.ndarray]") -> None:
        from tidegate.torch import DistributedOptimizer

        with tidegate.session() as s:
            named = [(name, torch.nn.Parameter(torch.from_numpy(values.copy()))) for name, values in start.items()]
            # The first table of the other job is opened first here, too: the hash goes through tables in that order.
            opt = DistributedOptimizer(tidegate.adam(0.05), named[::-1])
            for step in range(opt.steps, clocks):
                opt.zero_grad()
                for table, (_, p) in enumerate(named):
                    gradient = gradient_of(s, step, table, p.detach().numpy())
                    (p * torch.from_numpy(gradient)).sum().backward()
                opt.step()

    start = run(first_parameters).returns[0]
    result = run(train, workers=workers, shards=2, args=(start,))
    assert result.parameters_sha256 == expected.parameters_sha256


def test_gradients_may_come_on_a_thread_of_autograd(run: Run) -> None:
    """As on a GPU: the thread that calls backward() waits, and has the session afterwards."""

    def train(on_a_thread: bool) -> "list[bytes]":
        import threading

        with tidegate.session() as s:
            model = model_of(seed=0)
            opt = in_shards(model, bucket_bytes=256)
            for step in range(4):
                x, y = batch_of(s.rank, step)
                opt.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(x), y)
                if on_a_thread:
                    thread = threading.Thread(target=loss.backward)
                    thread.start()
                    thread.join()
                else:
                    loss.backward()
                s.report(loss=loss.item(), samples=16)
                opt.step()
            opt.pull_final()
            return [p.detach().numpy().tobytes() for p in model.parameters()]

    expected, found = (run(train, args=(on_a_thread,), workers=2) for on_a_thread in (False, True))
    assert found.returns == expected.returns
