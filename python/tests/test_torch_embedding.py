"""tidegate.torch.Embedding against torch.nn.Embedding and EmbeddingBag that are stepped by torch."""

from __future__ import annotations

from typing import Any, Callable, Optional

import pytest
import tidegate

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("workers_with_torch")
Run = Callable[..., tidegate.Result]


def batches(rank: int, clock: int) -> tuple[Any, Any]:
    random = torch.Generator().manual_seed(1000 * rank + clock)
    ids = torch.randint(0, 50, (40,), generator=random)
    return ids, torch.tensor([0, 3, 3, 20])  # with an empty bag


@pytest.mark.parametrize("mode", [None, "sum", "mean"])
def test_trains_as_an_embedding_of_torch(run: Run, mode: Optional[str]) -> None:
    def train() -> list[Any]:
        import tidegate.torch
        with tidegate.session() as s:
            table = tidegate.torch.Embedding(s, "rows", 3, mode=mode, optimizer=tidegate.sgd(0.5), init=1.0)
            while s.now < 3:
                ids, offsets = batches(s.rank, s.now)
                for part in (ids[:25], ids[25:]) if mode is None else (None,):  # in two passes
                    out = table(part) if mode is None else table(ids, offsets)
                    (out ** 2).sum().backward()
                table.prefetch(batches(s.rank, s.now + 1)[0])  # the same bits as without it
                table.push()
                s.clock()
            return table.table.pull(list(range(50))).tolist()

    result = run(train, workers=2, shards=2)
    rows = torch.ones(50, 3, requires_grad=True)
    for clock in range(3):
        gradients = []
        for rank in range(2):
            ids, offsets = batches(rank, clock)
            rows.grad = None
            out = (torch.nn.functional.embedding(ids, rows) if mode is None else
                   torch.nn.functional.embedding_bag(ids, rows, offsets, mode=mode))
            (out ** 2).sum().backward()
            gradients.append(rows.grad.clone())
        with torch.no_grad():
            rows -= 0.5 * sum(gradients) / 2
    for returned in result.returns:
        assert torch.allclose(torch.tensor(returned), rows.detach(), rtol=1e-4, atol=1e-5)
    assert result.returns[0] == result.returns[1]


def test_what_is_wrong_is_told(run: Run) -> None:
    def train() -> None:
        import tidegate.torch
        with tidegate.session() as s:
            with pytest.raises(tidegate.InvalidArgumentError, match="mode 'max'"):
                tidegate.torch.Embedding(s, "rows", 3, mode="max")
            rows = tidegate.torch.Embedding(s, "rows", 3)
            bags = tidegate.torch.Embedding(s, "bags", 3, mode="sum")
            with pytest.raises(tidegate.InvalidArgumentError, match="offsets belong to"):
                rows(torch.tensor([1]), torch.tensor([0]))
            with pytest.raises(tidegate.InvalidArgumentError, match="bags are a matrix of ids"):
                bags(torch.tensor([1]))
            assert bags(torch.empty(0, dtype=torch.int64), torch.tensor([0, 0])).shape == (2, 3)
            rows.eval()
            assert not rows(torch.tensor([1])).requires_grad
            rows.push()

    assert run(train, workers=1, shards=1).state == "done"
