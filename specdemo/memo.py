"""A model that works out each row once, so that thousands of runs after one prompt cost little more than one."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import torch

from .contract import Model, prefill

_MOST_BYTES = 2**29  # of remembered rows; the ones that nobody asked for longest are forgotten and worked out again


class Place(NamedTuple):
    """What a row depends on: the sequence before it, and how much of it the target had read."""

    ids: tuple[int, ...]
    target_length: int


class Memo:
    """Meets `contract.Model` for sequences that begin with one prompt.

    beside  the memo of the target, for a draft that reads what its target holds: its rows depend on that too

    A row is always worked out in the same way, by one pass over all that follows the prompt: so a target's row is a
    function of the sequence in low precision too, and the law that it defines is exact.
    """

    def __init__(self, model: Model, prompt_ids: Sequence[int], beside: Optional["Memo"] = None) -> None:
        self.vocab_size, self.device = model.vocab_size, model.device
        self.context: int | None = getattr(model, "context", None)
        self.prompt = tuple(prompt_ids)
        self._model, self._beside = model, beside
        self._ids: list[int] = []
        self._rows: dict[Place, torch.Tensor] = {}

    @property
    def length(self) -> int:
        return len(self._ids)

    @property
    def known(self) -> dict[Place, torch.Tensor]:
        """The rows that are remembered."""
        return dict(self._rows)

    def prefill(self, ids: torch.Tensor) -> None:
        self._ids += ids.tolist()

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        rows = []
        for i in ids.tolist():
            self._ids.append(i)
            rows.append(self.row(self._ids))
        return torch.stack(rows)

    def rewind(self, length: int) -> None:
        del self._ids[length:]

    def row(self, ids: Sequence[int]) -> torch.Tensor:
        """The logits (V,) after a sequence that begins with the prompt."""
        place = Place(tuple(ids), self._beside.length if self._beside else 0)
        row = self._rows.pop(place, None)
        if row is None:
            row = self._worked_out(place.ids)
        self._rows[place] = row  # behind all others
        while len(self._rows) > max(16, _MOST_BYTES // row.nbytes):
            del self._rows[next(iter(self._rows))]
        return row

    @torch.inference_mode()
    def _worked_out(self, ids: tuple[int, ...]) -> torch.Tensor:
        assert ids[: len(self.prompt)] == self.prompt, "a row before the end of the prompt"
        if self._beside:
            self._beside._hold(self._beside._ids)
        start = len(self.prompt) - 1
        self._hold(ids[:start])
        # A model may reuse the memory of its logits in the next pass.
        return self._model.feed(self._tensor(ids[start:]))[-1].clone()

    def _hold(self, ids: Sequence[int]) -> None:
        """Have the model itself hold just this sequence, of which the prompt but its last token never changes."""
        self._model.rewind(min(len(self.prompt) - 1, self._model.length))
        prefill(self._model, self._tensor(ids[self._model.length :]))

    def _tensor(self, ids: Sequence[int]) -> torch.Tensor:
        return torch.tensor(ids, dtype=torch.int64, device=self.device)
