"""Rounds as text for a terminal or a pipe."""

import os
from collections.abc import Collection, Mapping
from itertools import groupby
from typing import TextIO

from ..palette import PALETTE
from ..records import Outcome, Round, TokenEvent
from ..view.spelling import visible
from ..words import ENGLISH
from .plain import plain
from .streams import is_terminal

_RESET = "\x1b[0m"
_STRUCK = ";9"  # a refused token is struck out too
_LIGHT = ("7", "15")  # colours of a light background in COLORFGBG


class Painter:
    """Spells a round with its marks: a glyph before each stretch of tokens of one outcome, and its colours.

    marks    glyphs, and the tokens that did not become text; without them there is only the text
    colours  ANSI colours on top of the marks; ink and fill are both set, so any background will do
    hidden   ids of tokens that are left out where there are no marks: the stop token is not part of what was said
    """

    def __init__(
        self,
        marks: bool,
        colours: bool,
        hidden: Collection[int] = frozenset(),
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.marks, self._hidden = marks, hidden
        deep = environ.get("COLORTERM", "") in ("truecolor", "24bit")
        theme = "light" if environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT else "dark"
        self._starts = {outcome: _start(outcome, theme, deep) if colours else "" for outcome in Outcome}
        self._reset = _RESET if colours else ""

    @classmethod
    def for_stream(
        cls,
        stream: TextIO | None,
        when: str,
        hidden: Collection[int] = frozenset(),
        environ: Mapping[str, str] = os.environ,
    ) -> "Painter":
        """The marks and colours that suit a stream; `when` is what --color was told."""
        terminal = is_terminal(stream)
        plain = environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
        colours = when == "always" or (when == "auto" and terminal and not plain)
        return cls(terminal or colours, colours, hidden, environ)

    def legend(self) -> str:
        outcomes = (outcome for outcome in Outcome if outcome is not Outcome.PLAIN)
        return "  ".join(self._painted(outcome, ENGLISH[outcome]) for outcome in outcomes)

    def round(self, round_: Round) -> str:
        if not self.marks:
            return "".join(event.text for event in round_.emitted if event.token_id not in self._hidden)
        return "".join(
            self._painted(outcome, "".join(_shown(event) for event in events))
            for outcome, events in groupby(round_.events, key=lambda event: event.outcome)
        )

    def _painted(self, outcome: Outcome, text: str) -> str:
        """Colours end before a line does, or a terminal would fill the rest of the line with them."""
        start = self._starts[outcome]
        return start + PALETTE[outcome].glyph + text.replace("\n", f"{self._reset}\n{start}") + self._reset


def _shown(event: TokenEvent) -> str:
    """A token that became text as it is, but for what would steer the terminal; any other with its white space seen."""
    if not event.outcome.emitted:
        return visible(event.text)
    return plain(event.text, but="\n\t")


def _start(outcome: Outcome, theme: str, deep: bool) -> str:
    """The escape sequence that an outcome's stretch begins with."""
    tone = getattr(PALETTE[outcome], theme)
    struck = _STRUCK if outcome is Outcome.REJECTED else ""
    return f"\x1b[38;{_colour(tone.ink, deep)};48;{_colour(tone.fill, deep)}{struck}m"


def _colour(code: str, deep: bool) -> str:
    """#rrggbb for a terminal: all of it, or the nearest of the 256 colours that nearly all of them have."""
    rgb = [int(code[i : i + 2], 16) for i in (1, 3, 5)]
    if deep:
        return "2;" + ";".join(map(str, rgb))
    levels = (0, 95, 135, 175, 215, 255)
    cube = [min(range(6), key=lambda i: abs(levels[i] - x)) for x in rgb]
    grey = min(23, max(0, round((sum(rgb) / 3 - 8) / 10)))
    candidates = {
        16 + 36 * cube[0] + 6 * cube[1] + cube[2]: [levels[i] for i in cube],
        232 + grey: [8 + 10 * grey] * 3,
    }
    return f"5;{min(candidates, key=lambda n: sum((a - b) ** 2 for a, b in zip(candidates[n], rgb)))}"
