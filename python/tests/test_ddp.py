"""tidegate.torch.ddp_hook: DistributedDataParallel whose gradients shards reduce."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import pytest
import tidegate

torch = pytest.importorskip("torch", reason="scripts/test --without torch")

pytestmark = pytest.mark.usefixtures("workers_with_torch")
Run = Callable[..., tidegate.Result]
WORKERS = 2


def join_group() -> None:
    import os

    import torch.distributed as dist

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")


def batch_of(rank: int, step: int) -> "torch.Tensor":
    return torch.randn(8, 20, generator=torch.Generator().manual_seed(1000 * step + rank))


def wrapped(seed: int) -> Any:
    """A model in many buckets. Its parameters are in another order than its gradients, so that DDP cuts them anew."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = torch.nn.Linear(40, 3)
            self.first = torch.nn.Linear(20, 30)
            self.scale = torch.nn.Parameter(torch.ones(30, dtype=torch.bfloat16))
            self.middle = torch.nn.Linear(30, 40)

        def forward(self, x: "torch.Tensor") -> "torch.Tensor":
            x = torch.relu(self.first(x)) * self.scale.float()
            return self.last(torch.relu(self.middle(x)))

    torch.manual_seed(seed)
    return torch.nn.parallel.DistributedDataParallel(Model(), bucket_cap_mb=0.002)


def stepped(model: Any, rank: int, steps: int) -> "dict[str, np.ndarray]":
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        if step == 2:  # gradients that add up before they are reduced
            with model.no_sync():
                model(batch_of(rank, 100)).square().mean().backward()
        model(batch_of(rank, step)).square().mean().backward()
        optimizer.step()
    return {name: p.detach().float().numpy().copy() for name, p in model.module.named_parameters()}


def train(steps: int = 5) -> "tuple[Any, Any, list[list[tuple[int, ...]]]]":
    """Returns the parameters with the hook and without it, and the buckets of each backward pass, by their sizes."""
    import torch.distributed as dist
    from tidegate.torch import DDPState, ddp_hook

    join_group()
    buckets: list[list[tuple[int, ...]]] = []

    def watching(state, bucket):  # type: ignore[no-untyped-def]  # torch looks at annotations
        if bucket.index() == 0:
            buckets.append([])
        buckets[-1].append(tuple(p.numel() for p in bucket.parameters()))
        return ddp_hook(state, bucket)

    with tidegate.session() as s:
        model = wrapped(seed=s.rank)  # DDP hands out rank 0's
        model.register_comm_hook(DDPState(model), watching)
        hooked = stepped(model, s.rank, steps)
        assert s.now == steps
        assert sorted(s.tables) == sorted(name for name, _ in model.module.named_parameters())
        rank = s.rank
    plain = stepped(wrapped(seed=rank), rank, steps)
    dist.destroy_process_group()
    return hooked, plain, buckets


@pytest.mark.parametrize("reduce", ["mean", "sum"])
def test_the_hook_reduces_as_ddp_does(run: Run, reduce: str) -> None:
    result = run(train, workers=WORKERS, shards=2, replicas=1, reduce=reduce,
                 set={"faults.at": {"clock 2": "kill shard-0"}, "cluster.chunk_bytes": "4KiB"})
    (hooked, plain, buckets), (others, _, _) = result.returns
    for name, values in hooked.items():
        np.testing.assert_array_equal(values, others[name])
        tolerance = 2e-2 if name == "scale" else 1e-5  # without the hook bfloat16 is summed as bfloat16
        np.testing.assert_allclose(values, plain[name], rtol=tolerance, atol=tolerance)
    assert len(buckets[0]) > 1 and buckets[0] != buckets[1] == buckets[-1], buckets


def test_what_does_not_fit_is_refused(run: Run) -> None:
    def misuse() -> "list[str]":
        from tidegate.torch import DDPState, ddp_hook

        join_group()
        said = []

        def refused(call: Callable[[], Any]) -> None:
            try:
                call()
                said.append("")
            except tidegate.TidegateError as error:
                said.append(str(error))

        def linear(**options: Any) -> Any:
            return torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1, **options))

        def backward(model: Any) -> None:
            model(torch.ones(2, 3)).sum().backward()

        with tidegate.session() as s:
            model = linear()
            refused(lambda: DDPState(model.module))
            refused(lambda: DDPState(linear(dtype=torch.float64)))
            if s.policy != "bsp":
                refused(lambda: DDPState(model))
                return said
            without_state = linear()
            without_state.register_comm_hook(None, ddp_hook)
            refused(lambda: backward(without_state))
            state = DDPState(model)
            refused(lambda: DDPState(linear()))
            of_another = linear()
            of_another.register_comm_hook(state, ddp_hook)
            refused(lambda: backward(of_another))
            model.register_comm_hook(state, ddp_hook)
            backward(model)
            assert s.now == 1
        return said

    said = run(misuse).returns[0]
    for text, words in zip(said, ("is a Linear; it must be a torch.nn.parallel", "is torch.float64; allowed", "is a NoneType",
                                  "a job trains one model", "is not of the model"), strict=True):
        assert words in text, said
    said = run(misuse, consistency="ssp:3").returns[0]
    assert "the job's policy is ssp(3), and must be bsp" in said[-1], said


def test_a_workers_death_ends_a_job_that_does_not_replace_it(run: Run) -> None:
    def die() -> None:
        import os
        import signal

        from tidegate.torch import DDPState, ddp_hook

        join_group()
        with tidegate.session() as s:
            model = wrapped(seed=0)
            model.register_comm_hook(DDPState(model), ddp_hook)
            for step in range(1000):
                model(batch_of(s.rank, step)).sum().backward()
                if step == 3 and s.rank == 1:
                    os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(tidegate.TidegateError, match="worker 1 of job die"):
        run(die, workers=WORKERS, set={"jobs.die.on_worker_loss": "fail"})
