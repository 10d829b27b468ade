"""A model that works out each row once, so that thousands of runs after one prompt cost little more than one."""

from collections.abc import Sequence

import torch

from .contract import Model, prefill

_MOST_BYTES = 2**29  # of remembered rows; the ones that nobody asked for longest are forgotten and worked out again


class Memo:
    """Meets `contract.Model` for sequences that begin with one prompt.

    A row is always worked out in the same way, by one pass over all that follows the prompt: so it is a function of the
    context in low precision too, and the law that it defines is exact.
    """

    def __init__(self, model: Model, prompt_ids: Sequence[int]) -> None:
        self.vocab_size, self.device = model.vocab_size, model.device
        self.context: int | None = getattr(model, "context", None)
        self.prompt = tuple(prompt_ids)
        self._model = model
        self._ids: list[int] = []
        self._rows: dict[tuple[int, ...], torch.Tensor] = {}

    @property
    def length(self) -> int:
        return len(self._ids)

    @property
    def known(self) -> list[tuple[int, ...]]:
        """The sequences whose rows are remembered."""
        return list(self._rows)

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
        key = tuple(ids)
        row = self._rows.pop(key, None)
        if row is None:
            row = self._worked_out(key)
        self._rows[key] = row  # behind all others
        while len(self._rows) > max(16, _MOST_BYTES // row.nbytes):
            del self._rows[next(iter(self._rows))]
        return row

    @torch.inference_mode()
    def _worked_out(self, ids: tuple[int, ...]) -> torch.Tensor:
        assert ids[: len(self.prompt)] == self.prompt, "a row before the end of the prompt"
        start = len(self.prompt) - 1
        self._model.rewind(min(start, self._model.length))
        prefill(self._model, self._tensor(ids[self._model.length : start]))
        # A model may reuse the memory of its logits in the next pass.
        return self._model.feed(self._tensor(ids[start:]))[-1].clone()

    def _tensor(self, ids: Sequence[int]) -> torch.Tensor:
        return torch.tensor(ids, dtype=torch.int64, device=self.device)
