"""One row an outcome: its glyph and its name. The colours stand beside them, light and dark.

Colour-blind safe after Okabe and Ito (2008), darkened or lightened until text on it has a contrast of at least 4.5.
No meaning is carried by colour alone: each outcome has a glyph and a way of drawing its text as well.
"""

from typing import NamedTuple

from .records import Outcome


class Swatch(NamedTuple):
    """How an outcome looks. `light` and `dark` are the ink on the page's two themes."""

    glyph: str
    label: str
    meaning: str
    light: str
    dark: str


PALETTE: dict[Outcome, Swatch] = {
    Outcome.ACCEPTED: Swatch("✓", "accepted", "drafted and kept", "#00664b", "#5fd3ae"),
    Outcome.REJECTED: Swatch("✗", "rejected", "drafted, judged and refused", "#a83c00", "#ff9d66"),
    Outcome.DISCARDED: Swatch("–", "discarded", "drafted after the rejection, never judged", "#5f6368", "#a6abb2"),
    Outcome.RESAMPLED: Swatch("↻", "resampled", "drawn from the residual instead", "#0059a3", "#74baf0"),
    Outcome.BONUS: Swatch("+", "bonus", "drawn from p after all drafts were kept", "#8a2a6b", "#e79bc8"),
    Outcome.PLAIN: Swatch("·", "plain", "a token of the target alone", "#3c4043", "#d2d5d9"),
}

#: p and q wherever they are drawn, light and dark.
P_INK = ("#0059a3", "#74baf0")
Q_INK = ("#b25a00", "#f0a85a")
