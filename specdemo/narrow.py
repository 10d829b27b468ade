"""Rows of q over the few ids that a draft can propose: with ten times fewer numbers a round has less to read."""

from dataclasses import dataclass

import torch

from . import maths


@dataclass(frozen=True, slots=True)
class Narrow:
    """K rows of q, which is 0 on all other ids than those of its support.

    rows     (K, h) float32 or wider
    support  (h,) int64, in rising order; None: all ids of the vocabulary, so h is V
    width    V
    """

    rows: torch.Tensor
    support: torch.Tensor | None
    width: int

    @classmethod
    def whole(cls, rows: torch.Tensor) -> "Narrow":
        """Rows over the vocabulary (K, V)."""
        return cls(rows, None, rows.shape[1])

    @classmethod
    def of(cls, q: "torch.Tensor | Narrow") -> "Narrow":
        """What a drafter gives: rows over the vocabulary, or narrow ones."""
        return q if isinstance(q, cls) else cls.whole(q)

    def __len__(self) -> int:
        return len(self.rows)

    def to(self, device: torch.device) -> "Narrow":
        support = None if self.support is None else self.support.to(device)
        return Narrow(self.rows.to(device), support, self.width)

    def beside(self, p: torch.Tensor) -> "tuple[torch.Tensor, Narrow]":
        """p and q in one vocabulary: those of two models may be padded to different widths."""
        if self.support is None:
            p, rows = maths.same_width(p, self.rows)
            return p, Narrow.whole(rows)
        width = max(self.width, p.shape[1])
        return maths.widened(p, None, width), Narrow(self.rows, self.support, width)

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
        """q of some ids a row, and 0 in a row more than there is of q: (K, n) or (K + 1, n) -> the same."""
        found = torch.zeros(ids.shape, dtype=self.rows.dtype, device=ids.device)
        k = len(self)
        if self.support is None:
            torch.gather(self.rows, 1, ids[:k], out=found[:k])
        elif k:
            places = self.places(ids[:k]).clamp_(max=len(self.support) - 1)
            torch.gather(self.rows, 1, places, out=found[:k]).mul_(self.ids(places) == ids[:k])
        return found

    def wide(self) -> torch.Tensor:
        """The rows over the vocabulary: (K, V)."""
        return maths.widened(self.rows, self.support, self.width)
