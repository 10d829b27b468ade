"""How things look: a row an outcome, a row a theme. Every drawing takes its colours from here and nowhere else.

`PALETTE[outcome]` has a glyph and a `Tone` for each theme: `ink` for the glyph and for edges, `fill` for the background
of a token, on which both the ink and the theme's `text` can be read. `THEMES["light"]` and `THEMES["dark"]` have the
page's own colours, the inks of p and q, and the three masses of a position. What an outcome is called stands with all
other words.

`tests/test_palette.py` checks that an ink or a text has a contrast of at least 4.5 on all that it may stand on, and
that outcomes that may stand side by side differ for eyes without one kind of cones. Still no meaning is carried by
colour alone: an outcome has its glyph, q its stripes, a mass its place.
"""

from typing import Literal, NamedTuple

from .records import Outcome

ThemeName = Literal["light", "dark"]


class Tone(NamedTuple):
    """A colour to write with and one to write on."""

    ink: str
    fill: str


class Swatch(NamedTuple):
    """How an outcome looks, on the light page and on the dark one."""

    glyph: str
    light: Tone
    dark: Tone


class Theme(NamedTuple):
    """The colours of a page.

    page    what everything stands on
    text    on `page` and on every fill
    muted   for what comes second, on `page`
    line    for grids, axes and frames
    p, q    the inks of the two distributions
    shared  fill of min(p, q), what both models agree on; of mass α
    over    fill of q − p, what the draft proposes too often; this is refused
    gap     fill of p − q, what the draft proposes too seldom; the residual makes up for it
    lossy   ink of whatever changes the law, on `page`
    """

    page: str
    text: str
    muted: str
    line: str
    p: str
    q: str
    shared: str
    over: str
    gap: str
    lossy: str


PALETTE: dict[Outcome, Swatch] = {
    Outcome.ACCEPTED: Swatch("✓", Tone("#1d7a56", "#e0fae8"), Tone("#77e58d", "#1d4a36")),
    Outcome.REJECTED: Swatch("✗", Tone("#9d4e0e", "#ffddbd"), Tone("#f97f3f", "#502405")),
    Outcome.DISCARDED: Swatch("–", Tone("#4e5257", "#d6d9dc"), Tone("#9fa4ab", "#191c20")),
    Outcome.RESAMPLED: Swatch("↻", Tone("#2d54a2", "#cfe1fa"), Tone("#5a9cfd", "#06305c")),
    Outcome.BONUS: Swatch("+", Tone("#672c71", "#e4c8e4"), Tone("#cb86b6", "#380a29")),
    Outcome.PLAIN: Swatch("·", Tone("#3c4043", "#f4f5f6"), Tone("#d2d5d9", "#1d2025")),
}

THEMES: dict[ThemeName, Theme] = {
    "light": Theme(
        page="#ffffff",
        text="#1b1d20",
        muted="#55595f",
        line="#c9cdd2",
        p="#28509e",
        q="#874106",
        shared="#8fcfac",
        over="#f2a66d",
        gap="#93b4ee",
        lossy="#b3132f",
    ),
    "dark": Theme(
        page="#0f1115",
        text="#eceef1",
        muted="#a9aeb6",
        line="#3d424a",
        p="#85b6ff",
        q="#ff9458",
        shared="#2b7747",
        over="#a8501c",
        gap="#4a5fc0",
        lossy="#ff8595",
    ),
}
