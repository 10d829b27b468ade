"""Rows of q over the few ids that a draft can propose: with ten times fewer numbers a round has less to read."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from . import maths


@dataclass(frozen=True, slots=True)
class Narrow:
    """K rows of q, which is 0 on all other ids than those of its support; below them a row of nothing but 0, since
    after the last draft nothing is drafted.

    rows     (K + 1, h) float32 or wider
    support  (h,) int64, in rising order; None: all ids of the vocabulary, so h is V
    width    V
    """

    rows: torch.Tensor
    support: torch.Tensor | None
    width: int

    @classmethod
    def of_rows(cls, rows: Sequence[torch.Tensor], support: torch.Tensor | None, width: int) -> "Narrow":
        """At least one tensor of rows (n, h), together K."""
        return cls(torch.cat([*rows, rows[0].new_zeros(1, rows[0].shape[1])]), support, width)

    @classmethod
    def of(cls, q: "torch.Tensor | Narrow") -> "Narrow":
        """What a drafter gives: rows over the vocabulary, or narrow ones."""
        return q if isinstance(q, cls) else cls.of_rows([q], None, q.shape[1])

    @property
    def drafted(self) -> torch.Tensor:
        """The rows that drafts were drawn from: (K, h)."""
        return self.rows[:-1]

    def __len__(self) -> int:
        return len(self.rows) - 1

    def to(self, device: torch.device) -> "Narrow":
        support = None if self.support is None else self.support.to(device)
        return Narrow(self.rows.to(device), support, self.width)

    def beside(self, p: torch.Tensor) -> "tuple[torch.Tensor, Narrow]":
        """p and q in one vocabulary: those of two models may be padded to different widths."""
        if p.shape[1] == self.width:
            return p, self
        width = max(self.width, p.shape[1])
        rows = self.rows if self.support is not None else maths.widened(self.rows, None, width)
        return maths.widened(p, None, width), Narrow(rows, self.support, width)

    def share_of(self, p: torch.Tensor) -> torch.Tensor:
        """What p has on the support: (n, V) -> (n, h)."""
        return p if self.support is None else p.index_select(1, self.support)

    def places(self, ids: torch.Tensor) -> torch.Tensor:
        """Where in a row these ids stand, or would stand: up to h."""
        return ids if self.support is None else torch.searchsorted(self.support, ids)

    def ids(self, places: torch.Tensor) -> torch.Tensor:
        """The ids that stand there."""
        return places if self.support is None else self.support.take(places)

    def at(self, ids: torch.Tensor) -> torch.Tensor:
        """q of some ids a row, and 0 in the last: (K + 1, n) -> (K + 1, n)."""
        if self.support is None:
            return self.rows.gather(1, ids)
        if len(self.support) == 0:
            return self.rows.new_zeros(ids.shape)
        places = self.places(ids).clamp_(max=len(self.support) - 1)
        return self.rows.gather(1, places).mul_(self.ids(places) == ids)

    def wide(self) -> torch.Tensor:
        """The rows over the vocabulary: (K, V)."""
        return maths.widened(self.drafted, self.support, self.width)
