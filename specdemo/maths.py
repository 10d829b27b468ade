"""The whole of the sampling rule, pure: randomness is an argument, so losslessness can be proved by enumeration.

Symbols as in `records`. Rows are float32 or wider whatever the model's own dtype is: in bfloat16 a token of probability
zero would be accepted about once in 500.
"""

from functools import cache

import torch
from torch.nn.functional import pad

from .records import SamplingParams

_COLDEST, _HOTTEST = 1e-20, 1e30  # temperatures beyond draw what these draw, and would overflow
_FIRST_CUT = 256  # tokens looked at before a nucleus is searched for further down
_GROUP = 64  # tokens whose maximum stands for them in a first look


def _widest(device: torch.device) -> torch.dtype:
    """For sums over 150,000 terms, which must not drift. Metal has no float64."""
    return torch.float32 if device.type == "mps" else torch.float64


def _may_ask(device: torch.device) -> bool:
    """Whether to look at a result costs nothing. A GPU would make the host wait, so there both ways are gone."""
    return device.type == "cpu"


def to_probs(logits: torch.Tensor, params: SamplingParams) -> torch.Tensor:
    """The distribution that tokens are drawn from: logits (n, V) -> (n, V).

    Order: temperature, top-k, top-p, min-p. Tokens as likely as the last one kept are kept too. Temperature 0 is a
    one-hot row, so that greedy decoding needs no rule of its own. A row that is no distribution comes back as NaN.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    if params.greedy:
        best, best_id = logits.max(dim=-1, keepdim=True)
        nothing = 0 * best.to(wide).abs()  # NaN where the maximum is NaN or infinite
        return nothing.repeat(1, logits.shape[-1]).scatter_(-1, best_id, 1 + nothing)
    scaled = logits.to(wide, copy=True).div_(min(max(params.temperature, _COLDEST), _HOTTEST))
    if 0 < params.top_k < logits.shape[-1]:
        kth = scaled.topk(params.top_k, dim=-1).values[..., -1:]
        scaled.masked_fill_(scaled < kth, -torch.inf)
    probs = torch.softmax(scaled, dim=-1, out=scaled)  # in its place: new rows are memory that no cache holds
    if params.top_p == 1 and params.min_p == 0:
        return probs
    floor = params.min_p * probs.amax(dim=-1, keepdim=True)
    if params.top_p < 1:
        floor = torch.maximum(floor, _nucleus_floor(probs, params.top_p))
    kept = probs.masked_fill(probs < floor, 0)
    return kept / kept.sum(dim=-1, keepdim=True)


def _nucleus_floor(probs: torch.Tensor, top_p: float) -> torch.Tensor:
    """The smallest probability inside the smallest set that holds `top_p`: (n, V) -> (n, 1).

    On a CPU a full sort costs fifty times a partial one, and the partial one nearly always suffices. On a GPU the sort
    is cheap.
    """
    width = probs.shape[-1]
    cut = min(_FIRST_CUT, width) if _may_ask(probs.device) else width
    while True:
        top = probs.topk(cut, dim=-1).values
        before = top.cumsum(dim=-1, dtype=_widest(top.device)) - top
        inside = before < top_p
        if cut == width or not inside[..., -1].any():
            return top.masked_fill(~inside, torch.inf).amin(dim=-1, keepdim=True)
        cut = min(8 * cut, width)


def draw(weights: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """Inverse CDF, one uniform a row: weights (n, V) of any sum above 0, (n,) on [0, 1) -> ids (n,).

    A token of weight 0 is never drawn. One uniform is cheaper than the V exponentials of `multinomial` by a factor of
    twenty, and a run can be replayed from its uniforms.
    """
    return _found(weights, uniforms).clamp_(max=weights.shape[-1] - 1)


def _found(weights: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """As `draw`, but V where nothing is found: in a row of NaN or of nothing but 0.

    A u below 1 times the sum is rounded to less than the sum, so that elsewhere something is.
    """
    cdf = weights.cumsum(dim=-1, dtype=_widest(weights.device))
    return torch.searchsorted(cdf, uniforms[:, None] * cdf[:, -1:], right=True).squeeze(-1)


def widened(rows: torch.Tensor, support: torch.Tensor | None, width: int) -> torch.Tensor:
    """Rows over few ids of a vocabulary, or over the first h where none are named, and 0 on all others.

    (n, h), (h,) -> (n, width)
    """
    if support is not None:
        return rows.new_zeros(len(rows), width).index_copy_(1, support, rows)
    beyond = width - rows.shape[-1]
    return pad(rows, (0, beyond)) if beyond else rows  # a padding by nothing would copy them


def same_width(p: torch.Tensor, q: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Vocabularies padded to different widths: what a model lacks has probability 0 there."""
    width = max(p.shape[-1], q.shape[-1])
    return widened(p, None, width), widened(q, None, width)


def common(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """min(p, q): (n, V), (n, V) -> (n, V)

    A row's sum is α, the probability that a token drawn from q is accepted.
    """
    return torch.minimum(p, q)


def acceptance(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """min(1, p/q): the probability that `verify` keeps a token drawn from q. (…, V), (…, V) -> (…, V)

    0 where the draft proposes nothing.
    """
    return torch.where(q > 0, p / q, 0).clamp(max=1)


def residual(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """max(0, p − q) / (1 − α): (n, V), (n, V) -> (n, V)

    Where p and q agree to the last bit nothing is left; a rejection there has probability zero and p itself stands in.
    """
    left = p - common(p, q)
    mass = left.sum(dim=-1, keepdim=True)
    return torch.where(mass > 0, left / mass, p)


def verify(draft_ids: torch.Tensor, p: torch.Tensor, q: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """How many drafts stay: ids (K,), p and q (K, V) or more rows, u (K,) -> int64 scalar from 0 to K.

    x is accepted when u·q(x) < p(x), that is with probability min(1, p/q); the first rejection ends the round
    (Leviathan et al. 2023, algorithm 1). No division, so a q of zero and a NaN both reject.
    """
    at = draft_ids[:, None]
    return (uniforms[:, None] * q.gather(1, at) < p.gather(1, at)).cumprod(dim=0).sum()


def last_token(
    accepted: torch.Tensor,
    p: torch.Tensor,
    shared: torch.Tensor,
    uniform: torch.Tensor,
    support: torch.Tensor | None = None,
) -> torch.Tensor:
    """The round's last token, drawn from its `last_law` by a uniform (1,); other arguments as there -> id (1,).

    Where nothing is left of p it is drawn from p, as `residual` has it.
    """
    ids = _found(last_law(accepted, p, shared, support), uniform)
    if _may_ask(ids.device) and ids.item() < p.shape[1]:
        return ids
    return torch.where(ids < p.shape[1], ids, draw(p.index_select(0, accepted.reshape(1)), uniform))


def last_law(
    accepted: torch.Tensor, p: torch.Tensor, shared: torch.Tensor, support: torch.Tensor | None = None
) -> torch.Tensor:
    """What the round's last token is drawn from, up to a factor: -> (1, V)

    accepted  how many drafts stayed, scalar
    p         (K + 1, V)
    shared    what p and q have in `common`, (K + 1, V), or over a `support` (h,) alone, (K + 1, h)

    p less what it shares with q: the residual at the first rejection; after K acceptances p at position K + 1, where
    nothing is shared. So nothing depends on the verdict but a row's number.
    """
    row = accepted.reshape(1)
    here, shared_here = p.index_select(0, row), shared.index_select(0, row)
    if support is None:
        return here.sub_(shared_here)
    here.view(-1).index_add_(0, support, shared_here.view(-1), alpha=-1)  # along the rows it is twenty times slower
    return here


def likeliest(probs: torch.Tensor, n: int) -> torch.Tensor:
    """Ids of the n largest of each row, in no order: (rows, V) -> (rows, n).

    Only n groups with the largest maxima can hold one of them; `topk` over everything costs four times as much. A group
    is every `apart`-th token: such maxima are quicker than those of neighbours.
    """
    apart = probs.shape[1] // _GROUP
    if apart <= n:
        return probs.topk(n, dim=1).indices
    inside = apart * _GROUP
    best = probs[:, :inside].unflatten(1, (_GROUP, apart)).amax(dim=1).topk(n, dim=1).indices
    ids = (best[:, None] + _multiples(apart, _GROUP, probs.device)[:, None]).flatten(1)
    if inside < probs.shape[1]:
        tail = torch.arange(inside, probs.shape[1], device=probs.device).expand(len(probs), -1)
        ids = torch.cat([ids, tail], dim=1)
    return ids.gather(1, probs.gather(1, ids).topk(n, dim=1).indices)


@cache
def _multiples(step: int, n: int, device: torch.device) -> torch.Tensor:
    """0, step, 2 · step, …: (n,)"""
    return torch.arange(0, n * step, step, device=device)
