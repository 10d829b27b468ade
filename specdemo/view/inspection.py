"""All that the inspector shows of one token, as JSON."""

from dataclasses import replace

from ..palette import ThemeName
from ..records import Outcome, Round, TokenEvent
from ..words import ENGLISH, Words
from .plots import coin_figure, position_figure, residual_figure
from .position import SHOWN, folded, residual, rows
from .sentences import sentences
from .spelling import name


def inspection(
    round_: Round, place: int, theme: ThemeName, shown: int = SHOWN, words: Words = ENGLISH
) -> dict[str, object]:
    """Figures and sentences of an event of a round, with at most `shown` candidates one by one.

    A rejected token and the one that took its place are two ends of one story: either shows the coin and the residual.
    """
    event = folded(round_.events[place], shown)
    rejected, resampled = (_of(round_, outcome, shown) for outcome in (Outcome.REJECTED, Outcome.RESAMPLED))
    story = event.outcome in (Outcome.REJECTED, Outcome.RESAMPLED)
    return {
        "position": position_figure(event, theme, words),
        "coin": coin_figure(rejected if story and rejected else event, theme, words),
        "residual": residual_figure(resampled, theme, words) if story and resampled else None,
        "sentences": sentences(event, words),
        "candidates": candidates(event),
    }


def what_if(
    round_: Round, place: int, u: float, theme: ThemeName, shown: int = SHOWN, words: Words = ENGLISH
) -> dict[str, object]:
    """As `inspection`, of a judged event had its coin been `u`; with the `outcome` that it would have had."""
    real = round_.events[place]
    outcome = Outcome.ACCEPTED if u * real.q < real.p else Outcome.REJECTED
    event = folded(replace(real, u=u, outcome=outcome), shown)
    instead = replace(event, outcome=Outcome.RESAMPLED) if outcome is Outcome.REJECTED else None
    return {
        "position": position_figure(event, theme, words),
        "coin": coin_figure(event, theme, words),
        "residual": instead and residual_figure(instead, theme, words, drawn=False),
        "sentences": sentences(event, words, moved=u != real.u),
        "candidates": candidates(event),
        "outcome": outcome.value,
    }


def candidates(event: TokenEvent) -> list[list[object]]:
    """[id, name, p, share of the residual] of each token by name that the target may write here, likeliest first."""
    here = rows(event)
    shares = residual(event, here) if event.q is not None else [None] * len(here)
    return [
        [row.token_id, name(row.text, row.token_id), row.p, share]
        for row, share in sorted(zip(here, shares), key=lambda pair: -pair[0].p)
        if row.token_id is not None and row.p > 0
    ]


def _of(round_: Round, outcome: Outcome, shown: int) -> TokenEvent | None:
    return next((folded(event, shown) for event in round_.events if event.outcome is outcome), None)
