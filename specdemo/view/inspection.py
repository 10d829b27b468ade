"""All that the inspector shows of one token, as JSON."""

from .. import records
from ..palette import ThemeName
from . import plots


def inspection(round_: records.Round, place: int, theme: ThemeName) -> dict[str, object]:
    """The figures and the sentences of an event of a round. A rejection and what took its place are one story."""
    event = round_.events[place]
    resampled = round_.events[-1] if round_.events[-1].outcome is records.Outcome.RESAMPLED else None
    rejected = next((e for e in round_.events if e.outcome is records.Outcome.REJECTED), None)
    story = event in (rejected, resampled)
    return {
        "position": plots.position_figure(event, theme),
        "coin": plots.coin_figure(rejected if story else event, theme),
        "residual": plots.residual_figure(resampled, theme) if story and resampled else None,
    }
