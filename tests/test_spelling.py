"""Token texts made visible and harmless."""

import unicodedata

import pytest
from events import HOSTILE

from specdemo.view.spelling import literal, name, shorten, visible, width


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (" the", "␣the"),
        ("\n\t ", "↵⇥␣"),
        ("\u00a0", "⍽"),
        ("a\u200bb", "a‹200B›b"),
        ("\u202egnp", "‹202E›gnp"),
        ("\x00", "‹0000›"),
        ("\ufffd", "\ufffd"),
        ("\u0301", "◌\u0301"),
        ("👩‍👧", "👩‍👧"),
        ("漢", "漢"),
        ("", ""),
        ("\ud800", "‹D800›"),
    ],
)
def test_visible(text, seen):
    assert visible(text) == seen


def test_no_control_character_is_left():
    everything = "".join(map(chr, range(0x3100))) + "\u2028\ufeff\U000e0001\U000f0000"
    left = {unicodedata.category(c) for c in visible(everything)} & {"Cc", "Cs", "Co", "Zl", "Zp", "Zs"}
    assert not left
    assert {c for c in visible(everything) if unicodedata.category(c) == "Cf"} <= {"\u200d"}


def test_shorten_counts_columns():
    assert shorten("x" * 16, 16) == "x" * 16
    assert shorten("x" * 17, 16) == "x" * 16 + "…"
    assert shorten("漢" * 9, 16) == "漢" * 8 + "…"
    assert shorten("e\u0301" * 16, 16) == "e\u0301" * 16
    assert [width(c) for c in "a漢\u0301\u200d"] == [1, 2, 0, 0]


def test_a_name_is_never_empty_and_never_long():
    for i, text in enumerate(HOSTILE):
        shown = name(text, i)
        assert shown.strip("\u2068\u2069")
        assert sum(map(width, shown)) <= 17
    assert name("", 7) == "#7"
    assert name("\u05e9", 7) == "\u2068\u05e9\u2069"  # isolated, so that what stands beside it stays in place


def test_literal_leaves_no_tag_and_no_entity():
    assert literal("<b>&lt;</b>") == "&lt;b&gt;&amp;lt;&lt;/b&gt;"
