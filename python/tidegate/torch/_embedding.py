"""Embeddings whose rows are kept by the shards, and pulled and pushed as a batch needs them."""

from __future__ import annotations

from typing import Iterable, Optional, Union

import torch
from torch import Tensor, nn
from torch.nn import functional

from .._options import Optimizer, Segment, Uniform
from .._session import Session
from ..errors import InvalidArgumentError

MODES = (None, "sum", "mean")


class Embedding(nn.Module):
    """Rows of a table by id, or their sums or means over bags, as ``torch.nn.EmbeddingBag`` has them.

    The rows are no parameters of the module: no optimizer of torch steps them, and ``state_dict`` has none. A forward
    pass pulls the rows that it needs, each once; a backward pass leaves their gradients; :meth:`push` pushes them, and
    the shards step them with the table's optimizer::

        users = tidegate.torch.Embedding(s, "user", 64, mode="mean", optimizer=tidegate.adagrad(0.05))
        while s.now < clocks:
            loss = criterion(model(users(ids, offsets)), labels)
            loss.backward()
            users.push()
            s.clock()
    """

    def __init__(self, session: Session, name: str, dim: int, *, mode: Optional[str] = None,
                 optimizer: Optional[Optimizer] = None, init: Union[None, float, Uniform] = None,
                 capacity: Optional[int] = None, parts: Optional[int] = None, admit_count: Optional[int] = None,
                 admit_candidates: Optional[int] = None, evict_unseen: Optional[int] = None,
                 evict_rows: Optional[int] = None, evict_by: Optional[str] = None,
                 segments: Iterable[Segment] = ()) -> None:
        """`mode`: None (each row by itself), "sum" or "mean" over bags. The rest is as in :meth:`tidegate.Session.rows`."""
        super().__init__()
        if mode not in MODES:
            raise InvalidArgumentError(f"mode {mode!r} of embedding '{name}'; allowed: None, 'sum', 'mean'")
        self.mode = mode
        self.table = session.rows(name, dim, optimizer=optimizer, init=init, capacity=capacity, parts=parts,
                                  admit_count=admit_count, admit_candidates=admit_candidates,
                                  evict_unseen=evict_unseen, evict_rows=evict_rows, evict_by=evict_by, segments=segments)
        self._used: list[tuple[Tensor, Tensor]] = []  # ids and rows of forward passes since the last push

    def forward(self, ids: Tensor, offsets: Optional[Tensor] = None) -> Tensor:
        """Returns rows of shape ``(*ids.shape, dim)``, or with a mode of ``(bags, dim)``.

        `ids`: integers of 64 bits, not negative. With a mode bags are the rows of a matrix of ids, or begin at
        `offsets` in a vector of ids; an empty bag is 0.
        """
        if (offsets is not None) and (self.mode is None or ids.dim() != 1):
            raise InvalidArgumentError(f"embedding '{self.table.name}': offsets belong to a vector of ids and a mode")
        if self.mode is not None and offsets is None and ids.dim() != 2:
            raise InvalidArgumentError(f"embedding '{self.table.name}': bags are a matrix of ids, or begin at `offsets`")
        unique, places = torch.unique(ids.detach().cpu(), return_inverse=True)
        rows = torch.from_numpy(self.table.pull(unique.numpy())).to(ids.device)
        places = places.to(ids.device)
        if torch.is_grad_enabled() and self.training:
            rows.requires_grad_()
            self._used.append((unique, rows))
        if self.mode is None:
            return functional.embedding(places, rows)
        if unique.numel() == 0:  # bags of nothing
            bags = ids.shape[0] if offsets is None else offsets.numel()
            return rows.new_zeros((bags, self.table.dim))
        return functional.embedding_bag(places, rows, offsets, mode=self.mode)

    def prefetch(self, ids: Tensor) -> None:
        """Asks for the rows of the next batch, so that they travel while this one computes: see
        :meth:`tidegate.RowTable.prefetch`. To be called before :meth:`push`."""
        self.table.prefetch(torch.unique(ids.detach().cpu()).numpy())

    def push(self) -> None:
        """Pushes the gradients of all forward passes since the last push, those of one row summed. To be called once a
        clock, before its end; a pass without a backward pass adds nothing."""
        used = [(ids, rows.grad) for ids, rows in self._used if rows.grad is not None]
        self._used.clear()
        if not used:
            return
        ids = torch.cat([ids for ids, _ in used])
        gradients = torch.cat([grad.detach().to("cpu", torch.float32) for _, grad in used])
        self.table.push(ids.numpy(), gradients.numpy(), wait=False)

    def extra_repr(self) -> str:
        return f"'{self.table.name}', dim={self.table.dim}, mode={self.mode!r}"
