"""All that the inspector shows of one token, as JSON."""

from ..palette import ThemeName
from ..records import Outcome, Round, TokenEvent
from ..words import ENGLISH, Words
from .plots import coin_figure, position_figure, residual_figure
from .position import SHOWN, folded
from .sentences import sentences


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
    }


def _of(round_: Round, outcome: Outcome, shown: int) -> TokenEvent | None:
    return next((folded(event, shown) for event in round_.events if event.outcome is outcome), None)
