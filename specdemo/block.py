"""What comes over from the device once a round: one block of numbers, and the records made of it."""

import torch
from torch.nn.functional import pad

from . import maths
from .contract import NumericalFault
from .records import Outcome, TokenEvent, TopRow

#: Candidates of p and of q that are kept for the picture of a position.
TOP = 12

_SCALARS = 5  # columns before the candidates: Σp, Σq, α, u, and how many drafts stay


def read_block(
    p: torch.Tensor,  # (K + 1, V)
    q: torch.Tensor,  # (K, V)
    drafts: torch.Tensor,  # (K,) int64
    accepted: torch.Tensor,  # scalar
    last: torch.Tensor,  # (1,) int64
    coins: torch.Tensor,  # (K + 1,)
    top: int,
    position: int,
    last_outcome: Outcome,
) -> tuple[TokenEvent, ...]:
    """The records of a round: its K drafts from left to right, then its last token.

    `position` is that of the first draft in the whole sequence, for messages. Raises NumericalFault.
    """
    k = len(drafts)
    rows = _pack(p, pad(q, (0, 0, 0, 1)), drafts, accepted, last, coins, min(top, p.shape[1])).tolist()
    _refuse_nonsense(rows, position)
    n = int(rows[0][_SCALARS - 1])
    outcomes = [Outcome.ACCEPTED] * n + [Outcome.REJECTED] + [Outcome.DISCARDED] * (k - n)
    events = [_event(row, 0, outcome) for row, outcome in zip(rows[:k], outcomes)]
    return (*events, _event(rows[n], 1, Outcome.RESAMPLED if n < k else last_outcome))


def _pack(
    p: torch.Tensor,
    q: torch.Tensor,
    drafts: torch.Tensor,
    accepted: torch.Tensor,
    last: torch.Tensor,
    coins: torch.Tensor,
    top: int,
) -> torch.Tensor:
    """A row a position: the scalars, then candidates' ids, their p, their q -> (K + 1, 5 + 3·(2 + 2·top)).

    The first candidate is the drafted token, the second the round's last token where it was drawn. Ids stay exact: a
    float32 holds whole numbers up to 2^24.
    """
    here = torch.arange(len(p), device=p.device) == accepted
    own = torch.cat([drafts, last])
    best = [x.topk(top, dim=1).indices for x in (p, q)]
    ids = torch.cat([own[:, None], torch.where(here, last, own)[:, None], *best], dim=1)
    scalars = torch.stack([p.sum(1), q.sum(1), maths.overlap(p, q), coins, accepted.expand(len(p))], dim=1)
    return torch.cat([scalars, ids, p.gather(1, ids), q.gather(1, ids)], dim=1)


def _refuse_nonsense(rows: list[list[float]], position: int) -> None:
    for i, (p_sum, q_sum, *_) in enumerate(rows):
        for name, mass in (("target", p_sum), ("draft", q_sum)):
            if not 0 <= mass < 2:
                raise NumericalFault(
                    f"the {name}'s logits at position {position + i} are no distribution: NaN, +infinity, or nothing"
                    " but -infinity"
                )


def _event(row: list[float], column: int, outcome: Outcome) -> TokenEvent:
    """The event of the token in `column` of a row's candidates."""
    p_sum, q_sum, alpha, u, _ = row[:_SCALARS]
    drafted = outcome not in (Outcome.BONUS, Outcome.PLAIN)
    width = (len(row) - _SCALARS) // 3
    ids, ps, qs = (row[_SCALARS + i * width : _SCALARS + (i + 1) * width] for i in range(3))
    candidates = {i: (p, q) for i, p, q in zip(ids, ps, qs) if p > 0 or q > 0}
    order = sorted(candidates.items(), key=lambda item: -max(item[1]))
    rest_p = max(0.0, p_sum - sum(p for p, _ in candidates.values()))
    rest_q = max(0.0, q_sum - sum(q for _, q in candidates.values()))
    return TokenEvent(
        token_id=int(ids[column]),
        outcome=outcome,
        p=ps[column],
        q=qs[column] if drafted else None,
        u=u if outcome in (Outcome.ACCEPTED, Outcome.REJECTED) else None,
        alpha=min(1.0, alpha) if drafted else None,
        top=tuple(TopRow(int(i), "", p, q if drafted else None) for i, (p, q) in order),
        rest=(rest_p, rest_q if drafted else None),
    )
