"""All that the inspector shows of one token, as JSON."""

from dataclasses import replace

from ..palette import ThemeName
from ..records import Outcome, Round, TokenEvent
from .plots import coin_figure, position_figure, residual_figure
from .position import SHOWN
from .sentences import sentences


def inspection(round_: Round, place: int, theme: ThemeName, shown: int = SHOWN) -> dict[str, object]:
    """Figures and sentences of an event of a round, with at most `shown` candidates one by one.

    A rejected token and the one that took its place are two ends of one story: either shows the coin and the residual.
    """
    event = _folded(round_.events[place], shown)
    rejected, resampled = (_of(round_, outcome, shown) for outcome in (Outcome.REJECTED, Outcome.RESAMPLED))
    story = event.outcome in (Outcome.REJECTED, Outcome.RESAMPLED)
    return {
        "position": position_figure(event, theme),
        "coin": coin_figure(rejected if story and rejected else event, theme),
        "residual": residual_figure(resampled, theme) if story and resampled else None,
        "sentences": sentences(event),
    }


def _of(round_: Round, outcome: Outcome, shown: int) -> TokenEvent | None:
    return next((_folded(event, shown) for event in round_.events if event.outcome is outcome), None)


def _folded(event: TokenEvent, shown: int) -> TokenEvent:
    """The event with the less likely of its candidates counted among everything else."""
    top = sorted(event.top, key=lambda row: (row.token_id == event.token_id, max(row.p, row.q or 0.0)), reverse=True)
    kept, dropped = top[:shown], top[shown:]
    p = event.rest[0] + sum(row.p for row in dropped)
    q = None if event.q is None else (event.rest[1] or 0.0) + sum(row.q or 0.0 for row in dropped)
    return replace(event, top=tuple(kept), rest=(p, q))
