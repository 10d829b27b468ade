"""Models given by a table, in memory that stays where it is: what `captured` is judged with."""

from collections.abc import Sequence

import torch
from table_models import logits_of


class FixedTable:
    """The rule of `table_models.historic`, or of `markov`, as operations on the device. Meets `steps.FixedModel`.

    Its cache holds the key of all tokens up to each place, so what is wrong anywhere before is wrong here.
    """

    dtype = torch.float64

    def __init__(
        self, table: Sequence[Sequence[float]], rows: int = 64, context: int | None = None, history: bool = True,
        device: str = "cpu",
    ) -> None:
        self.device, self.rows, self.context = torch.device(device), rows, context
        self._logits = logits_of(table).to(self.device)
        self.vocab_size = self._logits.shape[-1]
        self._keys = torch.zeros(rows + 1, dtype=torch.int64, device=self.device)
        self._history = 31 if history else 0
        self.length = 0

    def feed_at(self, ids: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        logits = []
        for i, token in enumerate(ids.split(1)):
            at = (start + i).reshape(1)
            before = torch.where(at > 0, self._keys.gather(0, (at - 1).clamp(min=0)), 0)
            key = (self._history * before + token + 1) % 1_000_003
            self._keys.index_copy_(0, torch.where(at < 0, self.rows, at), key)
            row = key if self._history else token
            logits.append(self._logits.index_select(0, row % len(self._logits)))
        return torch.cat(logits)

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        logits = self.feed_at(ids, torch.full((), self.length, device=self.device))
        self.hold(self.length + len(ids))
        return logits

    def rewind(self, length: int) -> None:
        assert 0 <= length <= self.length
        self.length = length

    def hold(self, length: int) -> None:
        assert 0 <= length <= self.rows
        self.length = length
