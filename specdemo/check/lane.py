"""A pair at one prompt, whose every row is worked out once."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from .. import maths
from ..drafters import ModelDrafter
from ..engine import decode, speculate
from ..memo import Memo
from ..records import Round, SamplingParams


@dataclass(frozen=True, slots=True)
class Lane:
    """Both models with remembered rows, and how they run. A stop token ends nothing here: it is a token like any."""

    p: Memo
    q: Memo
    params: SamplingParams
    k: int

    def rounds(self, **changes: int) -> Iterator[Round]:
        """A run of the engine."""
        params = replace(self.params, **changes)
        return speculate(self.p, ModelDrafter(self.q), self.p.prompt, params, k=self.k, top=0)

    def alone(self, **changes: int) -> Iterator[Round]:
        """A run of the target alone."""
        return decode(self.p, self.p.prompt, replace(self.params, **changes), top=0)

    def laws(self, *rows: torch.Tensor, exact: bool = True) -> list[torch.Tensor]:
        """The distributions of rows of logits (V,), or as the engine has them, in float64 on the host: (1, V) each."""
        logits = (row[None].cpu().double() if exact else row[None] for row in rows)
        return [maths.to_probs(row, self.params).cpu().double() for row in logits]
