"""What comes over from the device once a round: one block of numbers, and the records made of it."""

import math
from functools import partial
from itertools import repeat
from typing import NamedTuple

import torch

from . import maths
from .contract import NumericalFault
from .narrow import Narrow
from .records import Outcome, TokenEvent, TopRow
from .words import Saying

#: Candidates of p and of q that are kept for the picture of a position.
TOP = 12

_SCALARS = 3  # columns before the candidates: α, u,
_ACCEPTED = 2  # and how many drafts stay


def block_width(top: int, *tokens: int) -> int:
    """Numbers a position that `pack_block` makes where p, and q, are over so many tokens."""
    return _SCALARS + 3 * (2 + sum(min(top, n) for n in tokens))


def pack_block(
    p: torch.Tensor,  # (K + 1, V)
    q: Narrow,  # K rows
    alpha: torch.Tensor,  # (K + 1,)
    accepted: torch.Tensor,  # scalar
    last: torch.Tensor,  # (1,) int64
    drafts: torch.Tensor,  # (K,) int64
    coins: torch.Tensor,  # (K + 1,)
    top: int,
) -> torch.Tensor:
    """A row a position: the scalars, then candidates' ids, their p, their q -> (K + 1, `block_width`).

    The first candidate is the drafted token, the second the round's last token, which counts only where it was drawn.
    The last row has no q: zeros. Ids stay exact: a float32 holds whole numbers up to 2^24.
    """
    k = len(drafts)
    own = torch.cat([drafts, last])
    by_p, by_q = (maths.likeliest(rows, min(top, rows.shape[1])) for rows in (p, q.drafted))
    by_q = torch.cat([q.ids(by_q), by_p[k:, : by_q.shape[1]]])
    ids = torch.cat([own[:, None], last.expand(k + 1, 1), by_p, by_q], dim=1)
    scalars = alpha[:, None], coins[:, None], accepted.expand(k + 1, 1)
    return torch.cat([*scalars, ids, p.gather(1, ids), q.at(ids)], dim=1)


class _Row(NamedTuple):
    """What came over of one position; the masses are those of the candidates."""

    alpha: float
    u: float
    ids: list[int]
    p: list[float]
    q: list[float]

    @classmethod
    def of(cls, numbers: list[float], ends: bool) -> "_Row":
        """The round's last token is a candidate where the round `ends`; else the drafted one stands there again."""
        width = (len(numbers) - _SCALARS) // 3
        ids, p, q = (numbers[start : start + width] for start in range(_SCALARS, len(numbers), width))
        if not ends:
            ids[1], p[1], q[1] = ids[0], p[0], q[0]
        return cls(*numbers[:_ACCEPTED], [*map(int, ids)], p, q)


def read_block(block: torch.Tensor, position: int, last_outcome: Outcome) -> tuple[TokenEvent, ...]:
    """The records of a round from what `pack_block` made of it: its K drafts from left to right, then its last token.

    `position` is that of the first draft in the whole sequence, for messages. Raises NumericalFault.
    """
    lists = block.tolist()
    k, n = len(lists) - 1, int(lists[0][_ACCEPTED])
    rows = [_Row.of(numbers, i == n) for i, numbers in enumerate(lists)]
    _refuse_nonsense(rows, position)
    assert all(row.q[0] > 0 for row in rows[:k]), "a draft was not drawn from that q"
    outcomes = [Outcome.ACCEPTED] * n + [Outcome.REJECTED] + [Outcome.DISCARDED] * (k - n)
    looks = [_look(row, drafted=i < k) for i, row in enumerate(rows[: max(k, n + 1)])]
    events = [_event(row, 0, outcome, look) for row, outcome, look in zip(rows[:k], outcomes, looks)]
    return (*events, _event(rows[n], 1, Outcome.RESAMPLED if n < k else last_outcome, looks[n]))


def _refuse_nonsense(rows: list[_Row], position: int) -> None:
    """A row that is no distribution is NaN all over, so any of its candidates tells."""
    for i, row in enumerate(rows):
        for name, probabilities in (("target", row.p), ("draft", row.q)):
            if math.isnan(sum(probabilities)):
                raise NumericalFault("no_distribution", model=Saying(f"the_{name}"), position=position + i)


class _Look(NamedTuple):
    """What a position shows, as `records.TokenEvent` has it."""

    top: tuple[TopRow, ...]
    rest: tuple[float, float | None]


_top_row = partial(tuple.__new__, TopRow)  # there are hundreds a round, and this is the quickest way to one


def _look(row: _Row, drafted: bool) -> _Look:
    """The candidates that have a chance, each once, largest first; q is None where nothing was `drafted`."""
    height = (lambda one: max(one.p, one.q)) if drafted else (lambda one: one.p)
    one_each = dict(zip(row.ids, zip(row.ids, repeat(""), row.p, row.q if drafted else repeat(None))))
    top = sorted(map(_top_row, one_each.values()), key=height, reverse=True)
    while height(top[-1]) == 0:
        top.pop()
    _, _, p, q = zip(*top)
    return _Look(tuple(top), (_rest(p), _rest(q) if drafted else None))


def _event(row: _Row, column: int, outcome: Outcome, look: _Look) -> TokenEvent:
    """The event of the token in `column` of a row's candidates."""
    drafted = look.rest[1] is not None
    return TokenEvent(
        token_id=int(row.ids[column]),
        outcome=outcome,
        p=row.p[column],
        q=row.q[column] if drafted else None,
        u=row.u if outcome in (Outcome.ACCEPTED, Outcome.REJECTED) else None,
        alpha=min(1.0, row.alpha) if drafted else None,
        top=look.top,
        rest=look.rest,
    )


def _rest(masses: tuple[float, ...]) -> float:
    return max(0.0, 1 - sum(masses))
