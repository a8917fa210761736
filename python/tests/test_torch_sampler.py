"""A torch DataLoader over a sampler that keeps its position."""

from __future__ import annotations

import os
from typing import Callable

import pytest
import tidegate

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("workers_with_torch")
Run = Callable[..., tidegate.Result]


@pytest.mark.parametrize("fetchers", [0, 2])
def test_no_sample_is_lost_or_seen_twice_by_a_loader_that_fetches_ahead(run: Run, fetchers: int) -> None:
    """Each batch is pushed as ones in the places of its samples: after two epochs every sum is 2."""
    length, epochs = 151, 2

    def train() -> int:
        import random
        import signal
        import threading
        import time

        import numpy as np
        import tidegate.torch
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        torch.set_num_threads(1)
        with tidegate.session() as s:
            seen = s.table("seen", length, optimizer=tidegate.sgd(1.0))
            dataset = TensorDataset(torch.arange(length))
            batches = tidegate.torch.Sampler(dataset, batch=5)
            loader = DataLoader(dataset, batch_sampler=batches, num_workers=fetchers)

            def die() -> None:
                time.sleep(random.Random(1000 * s.rank + s.incarnation).uniform(0.05, 0.25))
                os.kill(os.getpid(), signal.SIGKILL)

            if s.incarnation < 3:
                threading.Thread(target=die, daemon=True).start()
            while batches.epoch < epochs:
                for batch in batches.of(loader):
                    ones = np.zeros(length, np.float32)
                    if batch is not None:
                        np.add.at(ones, batch[0].numpy(), 1)
                    seen.grad[:] = ones
                    time.sleep(0.01)
                    seen.push()
                    s.clock()
            seen.pull_final()
            assert (np.asarray(seen.value) == -epochs).all(), np.unique(np.asarray(seen.value), return_counts=True)
            return s.incarnation

    result = run(train, workers=2, reduce="sum", set={"supervision.worker.max_restarts": 1000,
                                                      "supervision.worker.backoff": "1ms"})
    assert all(incarnation > 1 for incarnation in result.returns)


def test_a_loader_that_is_iterated_by_itself_is_refused(run: Run) -> None:
    def train() -> str:
        import tidegate.torch
        import torch
        from torch.utils.data import DataLoader, TensorDataset

        with tidegate.session() as s:
            s.table("w", 10, optimizer=tidegate.sgd(1.0))
            dataset = TensorDataset(torch.arange(20))
            batches = tidegate.torch.Sampler(dataset, batch=4, shuffle=False)
            loader = DataLoader(dataset, batch_sampler=batches)
            assert len(loader) == 5
            with pytest.raises(tidegate.OutOfOrderError) as refused:
                next(iter(loader))
            handed_out = batches.of(loader)
            assert next(handed_out)[0].tolist() == [0, 1, 2, 3] and batches.step == 1 and len(batches) == 4
            assert [batch[0].tolist() for batch in handed_out] == [list(range(at, at + 4)) for at in (4, 8, 12, 16)]
            assert batches.epoch == 1
            s.clock()
            return str(refused.value)

    assert "sampler.of(loader)" in run(train).returns[0]
