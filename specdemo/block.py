"""What comes over from the device once a round: one block of numbers, and the records made of it."""

import math

import torch
from torch.nn.functional import pad

from . import maths
from .contract import NumericalFault
from .records import Outcome, TokenEvent, TopRow
from .words import Saying

#: Candidates of p and of q that are kept for the picture of a position.
TOP = 12

_SCALARS = 3  # columns before the candidates: α, u, and how many drafts stay


def pack_block(
    p: torch.Tensor,  # (K + 1, V)
    q: torch.Tensor,  # (K, V)
    drafts: torch.Tensor,  # (K,) int64
    accepted: torch.Tensor,  # scalar
    last: torch.Tensor,  # (1,) int64
    coins: torch.Tensor,  # (K + 1,)
    top: int,
) -> torch.Tensor:
    """A row a position: the scalars, then candidates' ids, their p, their q -> (K + 1, 3 + 3·(2 + 2·top)).

    The first candidate is the drafted token, the second the round's last token where it was drawn. The last row has no
    q: zeros. Ids stay exact: a float32 holds whole numbers up to 2^24.
    """
    k, top = len(drafts), min(top, p.shape[1])
    here = torch.arange(k + 1, device=p.device) == accepted
    own = torch.cat([drafts, last])
    second = torch.where(here, last, own)
    by_p, by_q = maths.likeliest(p, top), maths.likeliest(q, top) if k else own.new_empty(0, top)
    ids = torch.cat([own[:, None], second[:, None], by_p, torch.cat([by_q, by_p[k:]])], dim=1)
    alpha = pad(maths.overlap(p[:k], q), (0, 1))
    scalars = torch.stack([alpha, coins, accepted.expand(k + 1)], dim=1)
    return torch.cat([scalars, ids, p.gather(1, ids), pad(q.gather(1, ids[:k]), (0, 0, 0, 1))], dim=1)


def read_block(block: torch.Tensor, position: int, last_outcome: Outcome) -> tuple[TokenEvent, ...]:
    """The records of a round from what `pack_block` made of it: its K drafts from left to right, then its last token.

    `position` is that of the first draft in the whole sequence, for messages. Raises NumericalFault.
    """
    rows = block.tolist()
    k = len(rows) - 1
    _refuse_nonsense(rows, position)
    assert all(_candidates(row)[2][0] > 0 for row in rows[:k]), "a draft was not drawn from that q"
    n = int(rows[0][_SCALARS - 1])
    outcomes = [Outcome.ACCEPTED] * n + [Outcome.REJECTED] + [Outcome.DISCARDED] * (k - n)
    events = [_event(row, 0, outcome) for row, outcome in zip(rows[:k], outcomes)]
    return (*events, _event(rows[n], 1, Outcome.RESAMPLED if n < k else last_outcome))


def _refuse_nonsense(rows: list[list[float]], position: int) -> None:
    """A row that is no distribution is NaN all over, so any of its candidates tells."""
    for i, row in enumerate(rows):
        _, p, q = _candidates(row)
        for name, probabilities in (("target", p), ("draft", q)):
            if math.isnan(sum(probabilities)):
                raise NumericalFault("no_distribution", model=Saying(f"the_{name}"), position=position + i)


def _candidates(row: list[float]) -> tuple[list[float], list[float], list[float]]:
    """ids, p and q of a row"""
    width = (len(row) - _SCALARS) // 3
    ids, p, q = (row[start : start + width] for start in range(_SCALARS, len(row), width))
    return ids, p, q


def _event(row: list[float], column: int, outcome: Outcome) -> TokenEvent:
    """The event of the token in `column` of a row's candidates."""
    alpha, u, _ = row[:_SCALARS]
    ids, ps, qs = _candidates(row)
    drafted = outcome not in (Outcome.BONUS, Outcome.PLAIN)
    shown = {i: (p, q) for i, p, q in zip(ids, ps, qs) if p > 0 or q > 0}
    order = sorted(shown.items(), key=lambda item: -max(item[1]))
    rest_p, rest_q = (max(0.0, 1 - sum(masses)) for masses in zip(*shown.values()))
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
