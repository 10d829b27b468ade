"""The palette: can it be read, and can a colour-blind reader tell its outcomes apart?"""

from itertools import combinations

import numpy as np
import pytest

from specdemo.palette import PALETTE, THEMES
from specdemo.records import Outcome
from specdemo.words import LANGUAGES, WORDS

#: Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
SIGHT = {
    "ordinary": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}

#: Outcomes that can follow one another in a lane. A plain token stands in a lane of its own, and the round of a
#: discarded token ends with a resampled one or with nothing, so a bonus never follows it.
NEIGHBOURS = [
    pair
    for pair in combinations([o for o in Outcome if o is not Outcome.PLAIN], 2)
    if set(pair) != {Outcome.DISCARDED, Outcome.BONUS}
]


def linear(colour: str) -> np.ndarray:
    """ "#rrggbb" -> linear RGB (3,) from 0 to 1."""
    s = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(s <= 0.04045, s / 12.92, ((s + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    """The ratio of WCAG 2, from 1 to 21."""
    dim, bright = sorted(float(linear(x) @ [0.2126, 0.7152, 0.0722]) for x in (a, b))
    return (bright + 0.05) / (dim + 0.05)


def difference(a: str, b: str, sight: str) -> float:
    """The distance in Oklab (Ottosson 2020), where 0.02 can just be noticed and black and white are 1 apart."""
    return float(np.linalg.norm(oklab(a, sight) - oklab(b, sight)))


def oklab(colour: str, sight: str) -> np.ndarray:
    seen = np.clip(SIGHT[sight] @ linear(colour), 0, 1)
    cones = np.array(
        [
            [0.41222147, 0.53633254, 0.05144599],
            [0.21190350, 0.68069955, 0.10739696],
            [0.08830246, 0.28171884, 0.62997870],
        ]
    )
    opponents = np.array(
        [
            [0.21045426, 0.79361779, -0.00407205],
            [1.97799850, -2.42859221, 0.45059371],
            [0.02590404, 0.78277177, -0.80867577],
        ]
    )
    return opponents @ np.cbrt(cones @ seen)


def test_instruments():
    """The measures themselves, against values that are known."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the well-known grey that just fails
    assert oklab("#ffffff", "ordinary") == pytest.approx([1, 0, 0], abs=1e-4)
    assert oklab("#ff0000", "ordinary") == pytest.approx([0.62796, 0.22486, 0.12585], abs=1e-4)
    assert difference("#ff0000", "#008000", "ordinary") > 0.3 > 2 * difference("#b02000", "#5a5a00", "deuteranopia")


@pytest.mark.parametrize("words", WORDS.values(), ids=LANGUAGES)
def test_every_outcome_once_with_its_own_glyph_label_and_meaning(words):
    assert list(PALETTE) == list(Outcome)
    assert len({swatch.glyph for swatch in PALETTE.values()}) == len(Outcome)
    assert len({words[outcome] for outcome in Outcome}) == len(Outcome)
    assert len({words[f"{outcome}_meaning"] for outcome in Outcome}) == len(Outcome)
    assert all(len(swatch.glyph) == 1 for swatch in PALETTE.values())


@pytest.mark.parametrize("theme", THEMES)
def test_what_is_read_has_contrast(theme):
    colours = THEMES[theme]
    read = [(ink, colours.page) for ink in (colours.text, colours.muted, colours.p, colours.q, colours.lossy)]
    for swatch in PALETTE.values():
        tone = getattr(swatch, theme)
        read += [(tone.ink, colours.page), (tone.ink, tone.fill), (colours.text, tone.fill)]
        read.append((colours.p, tone.fill))
    drafted = (Outcome.ACCEPTED, Outcome.REJECTED, Outcome.DISCARDED, Outcome.RESAMPLED)
    read += [(colours.q, getattr(PALETTE[outcome], theme).fill) for outcome in drafted]
    read += [(colours.text, mass) for mass in (colours.shared, colours.over, colours.gap)]
    poor = [(a, b, round(contrast(a, b), 2)) for a, b in read if contrast(a, b) < 4.5]
    assert not poor


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", THEMES)
def test_neighbours_differ(theme, sight):
    """Inks by at least three noticeable steps; fills, which only support them, by one and a half."""
    for a, b in NEIGHBOURS:
        one, other = getattr(PALETTE[a], theme), getattr(PALETTE[b], theme)
        assert difference(one.ink, other.ink, sight) >= 0.06, (a, b)
        assert difference(one.fill, other.fill, sight) >= 0.03, (a, b)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", THEMES)
def test_the_three_masses_and_p_and_q_differ(theme, sight):
    colours = THEMES[theme]
    assert difference(colours.p, colours.q, sight) >= 0.15
    for a, b in combinations((colours.shared, colours.over, colours.gap, colours.page), 2):
        assert difference(a, b, sight) >= 0.04, (a, b)
