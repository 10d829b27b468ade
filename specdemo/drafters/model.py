"""A drafter made of any model that meets the contract."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

import torch

from ..contract import Coins, Model, Proposal, prefill, room
from ..maths import draw, to_probs
from ..narrow import Narrow
from ..records import SamplingParams

_ONE_PASS = 16  # tokens that are read with all their logits, of which only the last are needed


def drawn(
    logits: torch.Tensor,  # (1, V) after the last committed token
    uniforms: torch.Tensor,  # (K,), at least one
    params: SamplingParams,
    feed: Callable[[int, torch.Tensor], torch.Tensor],
    support: torch.Tensor | None = None,
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Draw K tokens, each from its row of q: ids (K,), K rows (1, V). Nothing waits for the host.

    `feed(i, token)` reads the i-th draft, counted from 1, and gives the row after it; not the K-th, since nobody needs
    the row after that. With `support` the rows are over those ids alone.
    """
    ids, rows = [], []
    for i, u in enumerate(uniforms.split(1), start=1):
        rows.append(to_probs(logits, params))
        place = draw(rows[-1], u)
        ids.append(place if support is None else support.index_select(0, place))
        if i < len(uniforms):
            logits = feed(i, ids[-1])
    return torch.cat(ids), rows


class ModelDrafter:
    """Drafts with a model of its own, one token after another.

    It remembers which ids its model has read, so what the engine accepted is found by comparison and never by counting.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self._read: list[int] = []  # ids in the model's cache,
        self._drafts = torch.empty(0, dtype=torch.int64)  # and the drafts that follow them there, still on the device
        # A model that can propose few tokens has its rows worked out over those alone: with ten times fewer numbers.
        self._support: torch.Tensor | None = getattr(model, "support", None)
        self._feed = model.feed if self._support is None else model.feed_narrow

    def prefill(self, committed: Sequence[int]) -> None:
        if room(self.model, len(committed)) > 0:
            prefill(self.model, self._unread(committed[:-1]))
            self._read = list(committed[:-1])

    def propose(self, committed: Sequence[int], k: int, params: SamplingParams, coins: Coins) -> Proposal:
        k = int(max(0, min(k, room(self.model, len(committed)))))
        if k == 0:
            return Proposal.none(self.model.vocab_size, self.model.device)
        # 1. Take back what was rejected and read what is new: few tokens, so all in one pass, after the first round.
        unread = self._unread(committed)
        if len(unread) > _ONE_PASS:
            prefill(self.model, unread[:-_ONE_PASS])
        logits = self._feed(unread[-_ONE_PASS:])[-1:]
        self._read = list(committed)
        # 2. Draw.
        uniforms = coins.throw(k).to(self.model.device)
        drafts, rows = drawn(logits, uniforms, params, lambda _, token: self._feed(token), self._support)
        self._drafts = drafts[:-1]
        if self._support is None:
            return Proposal(drafts, torch.cat(rows))
        return Proposal(drafts, Narrow.of_rows(rows, self._support, self.model.vocab_size))

    def _unread(self, committed: Sequence[int]) -> torch.Tensor:
        """Rewind to what `committed` shares with the cache; the ids after it -> (n,).

        At least the last one is read again, for its logits. An id that the draft has no row for is read as its last
        one: only acceptance can suffer.
        """
        read = [*self._read, *self._drafts.tolist()]
        limit = max(0, min(len(read), len(committed) - 1, self.model.length))
        stands = list(committed[: len(self._read)]) == self._read  # as always but where a run begins
        first = min(limit, len(self._read) * stands)
        same = bisect_left(range(limit), True, first, key=lambda i: read[: i + 1] != list(committed[: i + 1]))
        self.model.rewind(same)
        # From here on the memory is true whatever happens: what fails to be read is not remembered.
        self._read, self._drafts = read[:same], self._drafts[:0]
        last = self.model.vocab_size - 1
        return torch.tensor([min(i, last) for i in committed[same:]], dtype=torch.int64, device=self.model.device)
