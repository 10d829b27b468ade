"""A model that works out each row once, so that thousands of runs after one prompt cost little more than one."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

import torch

from .contract import Model, prefill

_MOST_BYTES = 2**29  # of remembered rows; the ones that nobody asked for longest are forgotten and worked out again
_LEAST_ROWS = 64  # and a round's own rows must fit


class Place(NamedTuple):
    """What a row depends on: the sequence before it, and how much of it the target had read."""

    ids: tuple[int, ...]
    target_length: int


class Memo:
    """Meets `contract.Model` for sequences that begin with one prompt.

    beside  the memo of the target, for a draft that reads what its target holds: its rows depend on that too

    A row that was worked out once stays what it is, so the law that it defines is exact in low precision too, where
    another pass might round it differently. Of a model that can propose few tokens it remembers the rows over those
    alone, so that a run through it takes the way of any run.
    """

    def __init__(self, model: Model, prompt_ids: Sequence[int], beside: Optional["Memo"] = None) -> None:
        self.vocab_size, self.device = model.vocab_size, model.device
        self.context: int | None = getattr(model, "context", None)
        self.support: torch.Tensor | None = getattr(model, "support", None)
        self.prompt = tuple(prompt_ids)
        self._model, self._beside = model, beside
        self._feed = model.feed if self.support is None else model.feed_narrow
        self._ids: list[int] = []
        self._rows: dict[Place, torch.Tensor] = {}

    @property
    def length(self) -> int:
        return len(self._ids)

    def known(self) -> Iterator[tuple[Place, torch.Tensor]]:
        """The rows that are remembered, over the vocabulary: (V,)."""
        for place, row in tuple(self._rows.items()):
            yield place, self._wide(row)

    def prefill(self, ids: torch.Tensor) -> None:
        self._ids += ids.tolist()

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        return self._wide(self.feed_narrow(ids))

    def feed_narrow(self, ids: torch.Tensor) -> torch.Tensor:
        """ids (n,) -> logits over the support (n, h), or (n, V) where there is none"""
        held = len(self._ids)
        self._ids += ids.tolist()
        return torch.stack(self._recall([self._ids[:end] for end in range(held + 1, len(self._ids) + 1)]))

    def rewind(self, length: int) -> None:
        del self._ids[length:]

    def row(self, ids: Sequence[int]) -> torch.Tensor:
        """The logits (V,) after a sequence that begins with the prompt."""
        return self._wide(self._recall([ids])[0])

    def _wide(self, rows: torch.Tensor) -> torch.Tensor:
        """(…, h) -> (…, V)"""
        if self.support is None:
            return rows
        wide = rows.new_full((*rows.shape[:-1], self.vocab_size), -torch.inf)
        return wide.index_copy_(-1, self.support, rows)

    def _recall(self, sequences: list[Sequence[int]]) -> list[torch.Tensor]:
        """The rows after sequences of which each goes on from the one before."""
        read = self._beside.length if self._beside else 0
        places = [Place(tuple(ids), read) for ids in sequences]
        missing = [place for place in places if place not in self._rows]
        if missing:
            self._work_out(missing)
        for place in places:
            self._rows[place] = self._rows.pop(place)  # behind all others
        rows = [self._rows[place] for place in places]
        while len(self._rows) > max(_LEAST_ROWS, _MOST_BYTES // rows[0].nbytes):
            del self._rows[next(iter(self._rows))]
        return rows

    @torch.inference_mode()
    def _work_out(self, places: list[Place]) -> None:
        """One pass of the model for all of these rows."""
        ids, start = places[-1].ids, len(self.prompt) - 1
        assert ids[: len(self.prompt)] == self.prompt, "a row before the end of the prompt"
        if self._beside:
            self._beside._hold(self._beside._ids)
        self._hold(ids[:start])
        rows = self._feed(self._tensor(ids[start:]))
        for place in places:
            # A model may reuse the memory of its logits in the next pass.
            self._rows[place] = rows[len(place.ids) - len(self.prompt)].clone()

    def _hold(self, ids: Sequence[int]) -> None:
        """Have the model itself hold just this sequence, of which the prompt but its last token never changes."""
        self._model.rewind(min(len(self.prompt) - 1, self._model.length))
        prefill(self._model, self._tensor(ids[self._model.length :]))

    def _tensor(self, ids: Sequence[int]) -> torch.Tensor:
        return torch.tensor(ids, dtype=torch.int64, device=self.device)
