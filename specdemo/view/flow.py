"""Where each mass goes: from what the draft proposes, through the verdict, to what comes out. One lane a token.

What is kept runs straight across. What is refused falls into a pool at the bottom, and out of the pool fills what is
still missing. All areas have one scale, so that one sees that they add up.
"""

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import torch

from ..lab.laws import Laws, distance
from ..palette import THEMES, Theme, ThemeName
from ..words import Words
from .figure import CLEAR, HEAD, Figure, layout, stripes
from .numbers import placed, tidy
from .spelling import literal, name, width

#: Pixels: a mass of 1, the least height of a lane, between lanes, above the pool, a text that fits into a band.
_ONE, _LEAST, _BETWEEN, _ABOVE, _TEXT = 190, 40, 10, 24, 19

#: Pixels above the lanes, for the columns' titles, and below the pool, for what it holds.
_TITLES, _FOOT = 26, 32

#: Pixels of a column of text, and between the blocks, the text and the edge; what is no text in a note.
_COLUMN, _EDGE = 9, 14
_TAG = re.compile("<[^>]*>")

#: Of the width, from left to right: the draft's blocks, the pool, the blocks of what comes out.
_DRAFT, _POOL, _OUT = (0.0, 0.09), (0.44, 0.56), (0.91, 1.0)

#: How strongly a ribbon is painted, and how weakly everything that is not lit.
_RIBBON, _DIM = 0.5, 0.18

#: Less than this is not seen, and is rounding.
_NOTHING = 1e-9

#: A part of the picture: its kind ("draft", "kept", "refused", "pool", "again") and the token that it belongs to.
Part = tuple[str, int]


class _Band(NamedTuple):
    """A block or an end of a ribbon, in pixels from the top."""

    top: float
    bottom: float

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2

    @property
    def height(self) -> float:
        return self.bottom - self.top


class _Token(NamedTuple):
    """All that is drawn in a token's lane, and its two places in the pool."""

    kept: _Band
    refused: _Band
    again: _Band
    p: _Band
    into: _Band
    out_of: _Band


def flow_figure(
    tokens: Sequence[str],
    p: torch.Tensor,
    masses: Laws,
    lossy: bool,
    theme: ThemeName,
    words: Words,
    lit: Collection[Part] | None = None,
) -> Figure:
    """`lit`: the parts that stand out while one round is followed; None: all of them."""
    colours, chances = THEMES[theme], p.tolist()
    lanes, pool = _places(chances, masses)
    notes = [
        note
        for i, lane in enumerate(lanes)
        for note in _lane_notes(i, lane, name(tokens[i], i, 8), chances, masses, lossy, colours, words)
    ]
    refused = tidy(masses.refused.sum().item())
    key, mass = ("lab_flow_lossy", distance(masses.law, p)) if lossy else ("lab_flow_lossless", refused)
    heading = words["lab_flow"], words[key].format(mass=placed(mass))
    height = HEAD + _TITLES + pool.bottom + _FOOT
    look = layout(heading, theme, round(height)) | {
        "margin": _sides(notes) | {"t": HEAD + _TITLES, "b": _FOOT},
        "xaxis": {"range": [0, 1], "visible": False},
        "yaxis": {"range": [pool.bottom, 0], "visible": False, "automargin": False},
        "shapes": _ribbons(lanes, colours, lit) + _differences(chances, masses, lanes, colours),
        "annotations": [
            *_titles(colours, words),
            *notes,
            *([_pool_note(refused, colours, words)] if refused > _NOTHING else []),
        ],
    }
    return {"data": _blocks(lanes, pool, masses, colours, words, lit), "layout": look}


def _places(p: Sequence[float], masses: Laws) -> tuple[list[_Token], _Band]:
    columns = [row.tolist() for row in (masses.kept, masses.refused, masses.refilled)]
    pool_height = _ONE * sum(columns[1])
    top = 0.0
    tops = []
    for chance, kept, refused, again in zip(p, *columns):
        tops.append(top)
        top += max(_LEAST, _ONE * max(chance, kept + refused, kept + again)) + _BETWEEN
    pool = _Band(top + _ABOVE, top + _ABOVE + pool_height)
    lanes, fallen, risen = [], pool.top, pool.top
    for top, chance, kept, refused, again in zip(tops, p, *columns):
        edge = top + _ONE * kept
        lanes.append(
            _Token(
                kept=_Band(top, edge),
                refused=_Band(edge, edge + _ONE * refused),
                again=_Band(edge, edge + _ONE * again),
                p=_Band(top, top + _ONE * chance),
                into=_Band(fallen, fallen + _ONE * refused),
                out_of=_Band(risen, risen + _ONE * again),
            )
        )
        fallen, risen = fallen + _ONE * refused, risen + _ONE * again
    return lanes, pool


# -- blocks -----------------------------------------------------------------------------------------------------------


def _blocks(
    lanes: Sequence[_Token],
    pool: _Band,
    masses: Laws,
    colours: Theme,
    words: Words,
    lit: Collection[Part] | None,
) -> list[dict[str, Any]]:
    """The blocks at both ends of each lane, and the pool."""
    seen = range(len(lanes))
    kept, refused, again = (placed(tidy(row.sum().item())) for row in (masses.kept, masses.refused, masses.refilled))
    drafted = [_strength(lit, 1, ("draft", i), ("kept", i)) for i in seen]
    came = [_strength(lit, 1, ("kept", i)) for i in seen]
    lost = [_strength(lit, 1, ("draft", i), ("refused", i)) for i in seen]
    filled = [_strength(lit, 1, ("again", i)) for i in seen]
    poured = [_strength(lit, 1, ("pool", 0))]
    return [
        _block(_DRAFT, [lane.kept for lane in lanes], colours.shared, drafted, words["lab_key_kept"].format(mass=kept)),
        _block(_OUT, [lane.kept for lane in lanes], colours.shared, came),
        _block(
            _DRAFT,
            [lane.refused for lane in lanes],
            colours.over,
            lost,
            words["lab_key_refused"].format(mass=refused),
            stripes(colours),
        ),
        _block(_POOL, [pool], colours.over, poured, pattern=stripes(colours)),
        _block(_OUT, [lane.again for lane in lanes], colours.gap, filled, words["lab_key_again"].format(mass=again)),
        _block(_OUT, [lane.p for lane in lanes], CLEAR, [1.0] * len(lanes), words["lab_key_frame"], edge=colours.p),
    ]


def _block(
    place: tuple[float, float],
    bands: Sequence[_Band],
    colour: str,
    opacity: Sequence[float],
    label: str = "",
    pattern: dict[str, Any] | None = None,
    edge: str | None = None,
) -> dict[str, Any]:
    left, right = place
    marker = {"color": colour, "opacity": list(opacity), "line": {"color": edge, "width": 2} if edge else {"width": 0}}
    if pattern is not None:
        marker["pattern"] = pattern
    return {
        "type": "bar",
        "x": [(left + right) / 2] * len(bands),
        "width": right - left,
        "base": [band.top for band in bands],
        "y": [band.height for band in bands],
        "marker": marker,
        "hoverinfo": "skip",
        "showlegend": bool(label),
        "name": literal(label),
    }


# -- ribbons ----------------------------------------------------------------------------------------------------------


def _ribbons(lanes: Sequence[_Token], colours: Theme, lit: Collection[Part] | None) -> list[dict[str, Any]]:
    ways = []
    for i, lane in enumerate(lanes):
        ways += [
            (("kept", i), _DRAFT[1], lane.kept, _OUT[0], lane.kept, colours.shared),
            (("refused", i), _DRAFT[1], lane.refused, _POOL[0], lane.into, colours.over),
            (("again", i), _POOL[1], lane.out_of, _OUT[0], lane.again, colours.gap),
        ]
    return [
        {
            "type": "path",
            "layer": "below",
            "path": _path(left, start, right, end),
            "fillcolor": colour,
            "opacity": _strength(lit, _RIBBON, part),
            "line": {"width": 0},
        }
        for part, left, start, right, end, colour in ways
        if start.height > _ONE * _NOTHING
    ]


def _path(left: float, start: _Band, right: float, end: _Band) -> str:
    middle = (left + right) / 2
    return (
        f"M{left},{start.top} C{middle},{start.top} {middle},{end.top} {right},{end.top} "
        f"L{right},{end.bottom} C{middle},{end.bottom} {middle},{start.bottom} {left},{start.bottom} Z"
    )


def _strength(lit: Collection[Part] | None, full: float, *parts: Part) -> float:
    return full if lit is None or any(part in lit for part in parts) else _DIM


def _differences(p: Sequence[float], masses: Laws, lanes: Sequence[_Token], colours: Theme) -> list[dict[str, Any]]:
    """Framed in red: what p has and the rule does not give, and what it gives beyond p."""
    return [
        {
            "type": "rect",
            "x0": _OUT[0],
            "x1": _OUT[1],
            "y0": lane.p.bottom,
            "y1": lane.again.bottom,
            "line": {"color": colours.lossy, "width": 3, "dash": "dot" if given < chance else "solid"},
        }
        for lane, chance, given in zip(lanes, p, masses.law.tolist())
        if abs(given - chance) > _NOTHING
    ]


# -- texts ------------------------------------------------------------------------------------------------------------


def _titles(colours: Theme, words: Words) -> list[dict[str, Any]]:
    middle = ((_DRAFT[1] + _OUT[0]) / 2, "center", "lab_flow_middle", colours.text)
    ends = ((_DRAFT[1], "right", "lab_flow_left", colours.q), (_OUT[0], "left", "lab_flow_right", colours.p))
    return [
        _note(x, 1, f"<b>{literal(words[key])}</b>", ink, yref="paper", xanchor=anchor, yanchor="bottom", yshift=8)
        for x, anchor, key, ink in (middle, *ends)
    ]


def _lane_notes(
    i: int,
    lane: _Token,
    token: str,
    p: Sequence[float],
    masses: Laws,
    lossy: bool,
    colours: Theme,
    words: Words,
) -> list[dict[str, Any]]:
    drawn, kept, refused, again, law = (
        tidy(row[i].item()) for row in (masses.drawn, masses.kept, masses.refused, masses.refilled, masses.law)
    )
    head = f"<b>{literal(token)}</b>"
    wrong = f' <b style="color:{colours.lossy}">p {placed(p[i])}</b>' if abs(law - p[i]) > _NOTHING else ""
    sum_ = f"{placed(kept)} + {placed(again)}"
    end = f'{head} {placed(law)}{wrong}<br><span style="font-size:14px;color:{colours.muted}">= {sum_}</span>'
    notes = [
        _note(_DRAFT[0], lane.kept.top + 12, f"{head} {placed(drawn)}", colours.text, xanchor="right", xshift=-8),
        _note(_OUT[1], lane.kept.top + 18, end, colours.text, xanchor="left", xshift=8, align="left"),
    ]
    if lane.kept.height >= _TEXT:
        notes.append(
            _note(0.5, lane.kept.middle, literal(words["lab_kept_mass"].format(mass=placed(kept))), colours.text)
        )
    if lane.refused.height >= _TEXT:
        text = f"− {placed(refused)}"
        notes.append(_note(_DRAFT[1], lane.refused.middle, text, colours.text, xanchor="left", xshift=6))
    if lane.again.height >= _TEXT:
        notes.append(
            _note(_OUT[0], lane.again.middle, f"+ {placed(again)}", colours.text, xanchor="right", xshift=-6)
        )
    return notes


def _sides(notes: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Margins that hold what stands at both ends of the lanes."""

    def room(x: float, anchor: str) -> float:
        texts = [note["text"] for note in notes if (note["x"], note["xanchor"]) == (x, anchor)]
        lines = [line for text in texts for line in re.sub(_TAG, "", text.replace("<br>", "\n")).split("\n")]
        return _EDGE + _COLUMN * max(sum(map(width, line)) for line in lines)

    return {"l": room(_DRAFT[0], "right"), "r": room(_OUT[1], "left")}


def _pool_note(refused: float, colours: Theme, words: Words) -> dict[str, Any]:
    text = literal(words["lab_pool"].format(mass=placed(refused)))
    return _note(0.5, 0, text, colours.text, yref="paper", yanchor="top", yshift=-6)


def _note(x: float, y: float, text: str, ink: str, **more: object) -> dict[str, Any]:
    placed = {"x": x, "y": y, "xanchor": "center", "yanchor": "middle", "showarrow": False}
    return placed | {"text": text, "font": {"size": 16, "color": ink}} | more
