"""The numbers of one position, as the figures and the sentences both need them: rows, and the three masses of each."""

from dataclasses import replace
from typing import NamedTuple

from ..records import TokenEvent, TopRow

#: Tokens that are shown one by one; the others go into "everything else".
SHOWN = 10

#: Mass below which "everything else" is no more than the rounding of two sums over the vocabulary in float32.
_NOISE = 1e-6


class Row(NamedTuple):
    """One token, or everything else (`token_id` None). p = shared + gap, q = shared + over.

    shared  min(p, q): kept if drafted
    over    max(0, q − p): drafted too often, refused
    gap     max(0, p − q): drafted too seldom, made up for by the residual
    mine    whether it is the event's own token

    Where nothing was drafted q is None and all of p is gap. Everything else is many tokens, so it may have both an over
    and a gap.
    """

    token_id: int | None
    text: str
    p: float
    q: float | None
    shared: float
    over: float
    gap: float
    mine: bool = False


def rows(event: TokenEvent) -> tuple[Row, ...]:
    """The likeliest tokens by max(p, q), always the event's own among them; last, exactly summed, everything else."""
    event = folded(event)
    tokens = tuple(_row(row, row.token_id == event.token_id) for row in event.top)
    if max(event.rest[0], event.rest[1] or 0.0) < _NOISE:
        return tokens
    return (*tokens, _rest(event.alpha, tokens, *event.rest))


def folded(event: TokenEvent, shown: int = SHOWN) -> TokenEvent:
    """The event with at most `shown` candidates, likeliest first and its own among them; the others join the rest."""
    top, (rest_p, rest_q) = _candidates(event)
    own = next(row for row in top if row.token_id == event.token_id)
    others = [row for row in top if row is not own]
    kept, dropped = [own, *others[: shown - 1]], others[shown - 1 :]
    p = rest_p + sum(row.p for row in dropped)
    q = None if event.q is None else (rest_q or 0.0) + sum(row.q or 0.0 for row in dropped)
    return replace(event, top=tuple(sorted(kept, key=_order)), rest=(p, q))


def residual(event: TokenEvent, of: tuple[Row, ...]) -> list[float]:
    """max(0, p − q) / (1 − α) of each row; p where the two distributions agree, as in `maths.residual`."""
    mass = left_over(event, of)
    return [row.gap / mass if mass else row.p for row in of]


def left_over(event: TokenEvent, of: tuple[Row, ...]) -> float:
    """1 − α = Σ max(0, p − q), by the sum where α is so near 1 that the difference is mostly rounding."""
    return max(1 - (event.alpha or 0.0), sum(row.gap for row in of))


def _candidates(event: TokenEvent) -> tuple[list[TopRow], tuple[float, float | None]]:
    """The recorded rows by weight, and the rest; the event's own token is taken out of the rest if it was in there."""
    top = sorted(event.top, key=_order)
    if any(row.token_id == event.token_id for row in top):
        return top, event.rest
    own = TopRow(event.token_id, event.text, event.p, event.q)
    p, q = event.rest
    return [*top, own], (max(0.0, p - own.p), None if q is None else max(0.0, q - (own.q or 0.0)))


def _order(row: TopRow) -> tuple[float, int]:
    """Likeliest first; equals by id, so that the two tokens of a rejection see the same order."""
    return -max(row.p, row.q or 0.0), row.token_id


def _row(token: TopRow, mine: bool) -> Row:
    q = token.q or 0.0
    return Row(*token, min(token.p, q), max(0.0, q - token.p), max(0.0, token.p - q), mine)


def _rest(alpha: float | None, tokens: tuple[Row, ...], p: float, q: float | None) -> Row:
    """Everything else shares what α still lacks."""
    shared = 0.0 if alpha is None or q is None else min(max(alpha - sum(row.shared for row in tokens), 0.0), p, q)
    return Row(None, "", p, q, shared, (q or 0.0) - shared, p - shared)
