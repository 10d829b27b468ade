"""The two halves of a round as functions that never ask the host: what a CUDA graph can hold.

They read and write tensors that stay where they are, and branch on shapes alone. The engine judges by the same
`judged`, and a draft draws by the same `drafters.drawn`.
"""

from typing import NamedTuple, Protocol

import torch

from . import maths
from .block import block_width, pack_block
from .contract import Model
from .drafters import drawn
from .narrow import Narrow
from .records import SamplingParams


class FixedModel(Model, Protocol):
    """A `contract.Model` whose cache stays where it is in memory, and which a pass can be asked of by place.

    rows     tokens that its cache has room for
    dtype    of its logits
    feed_at  ids (n,), start (scalar on the device) -> logits (n, V): reads them into places start, start + 1, …; those
             below 0 are read nowhere, and their logits mean nothing. It does not touch `length`.
    hold     says how many tokens are in the cache now
    """

    rows: int
    dtype: torch.dtype

    def feed_at(self, ids: torch.Tensor, start: torch.Tensor) -> torch.Tensor: ...

    def hold(self, length: int) -> None: ...


class Verdict(NamedTuple):
    """p (K + 1, V), q (K rows) of one width; α (K + 1,), the last one 0; accepted (scalar); last (1,)."""

    p: torch.Tensor
    q: Narrow
    alpha: torch.Tensor
    accepted: torch.Tensor
    last: torch.Tensor


class Standing:
    """Where a text stands, on the device.

    recent  (reach,) the last committed tokens; a text that has fewer begins with others that are read nowhere
    newest  scalar: the place of the last committed token
    """

    def __init__(self, reach: int, device: torch.device) -> None:
        self.recent = torch.zeros(reach, dtype=torch.int64, device=device)
        self.newest = torch.zeros((), dtype=torch.int64, device=device)

    def set(self, committed: list[int]) -> None:
        """Stand after these; the host waits for nothing."""
        reach = len(self.recent)
        last = [0] * (reach - len(committed)) + committed[-reach:]
        self.recent.copy_(torch.tensor(last), non_blocking=True)
        self.newest.fill_(len(committed) - 1)


class Desk:
    """What a round of K drafts reads and writes.

    uniforms (K,), coins (K + 1,)  thrown before it
    drafts (K,), q (K + 1, V)      from the draft to the verification; q as `Narrow` has its rows
    block                          what comes over, as `block.pack_block` makes it
    """

    def __init__(self, k: int, target: FixedModel, draft: FixedModel, top: int, dtype: torch.dtype) -> None:
        """`dtype` is that of the coins."""
        device, size = target.device, draft.vocab_size if k else target.vocab_size
        self.uniforms, self.coins = (torch.zeros(n, dtype=dtype, device=device) for n in (k, k + 1))
        self.drafts = torch.zeros(k, dtype=torch.int64, device=device)
        self.q = torch.zeros(k + 1, size, dtype=torch.promote_types(draft.dtype, torch.float32), device=device)
        width = max(size, target.vocab_size)
        self.block = torch.zeros(k + 1, block_width(top, width, width), dtype=dtype, device=device)
        self._here = torch.empty_like(self.block, device="cpu", pin_memory=True) if device.type == "cuda" else None

    def fetched(self) -> torch.Tensor:
        """The block, on the host, which waits for the device here and nowhere else in a round."""
        if self._here is None:
            return self.block
        self._here.copy_(self.block, non_blocking=True)
        torch.cuda.current_stream().synchronize()
        return self._here


def judged(
    logits: torch.Tensor, drafts: torch.Tensor, q: Narrow, coins: torch.Tensor, params: SamplingParams
) -> Verdict:
    """p from the target's logits (K + 1, V), how many drafts stay, and the round's last token, drawn."""
    k = len(drafts)
    p, q = q.beside(maths.to_probs(logits, params))
    share = q.share_of(p)  # all of p that a draft is judged by
    shared = maths.common(share, q.rows)
    accepted = maths.verify(q.places(drafts), share, q.rows, coins[:k])
    last = maths.last_token(accepted, p, shared, coins[k:], q.support)
    return Verdict(p, q, shared.sum(dim=-1), accepted, last)


def draft_step(draft: FixedModel, standing: Standing, desk: Desk, params: SamplingParams) -> None:
    """Read the recent tokens again, since some of them may be new, then draw K drafts one after another."""
    newest = standing.newest
    recent = standing.recent.clamp(max=draft.vocab_size - 1)  # as the engine's drafter does: only acceptance can suffer
    first = draft.feed_at(recent, newest + 1 - len(recent))[-1:]
    ids, rows = drawn(first, desk.uniforms, params, lambda i, token: draft.feed_at(token, newest + i))
    desk.drafts.copy_(ids)
    desk.q[: len(rows)].copy_(torch.cat(rows))


def verify_step(target: FixedModel, standing: Standing, desk: Desk, params: SamplingParams, top: int) -> None:
    """Verify, judge, draw the last token, cut out what is shown, and stand after what was committed."""
    recent, newest = standing.recent, standing.newest
    readable = desk.drafts.clamp(max=target.vocab_size - 1)  # an id that the target lacks has p = 0, so any will do
    logits = target.feed_at(torch.cat([recent[-1:], readable]), newest)
    verdict = judged(logits, desk.drafts, Narrow(desk.q, None, desk.q.shape[1]), desk.coins, params)
    desk.block.copy_(pack_block(*verdict, desk.drafts, desk.coins, top))
    # After n acceptances n + 1 tokens move in at the end: n drafts and the last one.
    line = torch.cat([recent, desk.drafts])
    kept = torch.arange(1, len(recent), device=line.device) + verdict.accepted
    recent.copy_(torch.cat([line.gather(0, kept), verdict.last]))
    newest.add_(verdict.accepted + 1)
