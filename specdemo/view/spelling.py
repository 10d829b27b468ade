"""Token texts made visible: what is white shows, what is hostile is only text, what is long is cut."""

import unicodedata

#: White space and the two marks that come in byte-level vocabularies, as people know them from editors.
_VISIBLE = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽", "\u3000": "□"}

#: Categories that have no shape of their own, or that would change the text around them.
_SHAPELESS = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}

#: Joiners that belong to the shape of a letter or an emoji.
_JOINERS = {"\u200d", "\ufe0f", "\ufe0e"}

#: Around a token, so that one written from right to left leaves what stands beside it in place.
_ISOLATE, _POP = "\u2068", "\u2069"


def visible(text: str) -> str:
    """text with white space as ␣ ↵ ⇥, and with the code point of whatever cannot be seen."""
    shown = "".join(_seen(c) for c in text)
    return "◌" + shown if shown and unicodedata.category(shown[0]).startswith("M") else shown


def shorten(text: str, columns: int) -> str:
    """text cut to about `columns` columns, of which a Chinese character takes two; the cut is marked with …"""
    used = 0
    for i, c in enumerate(text):
        used += width(c)
        if used > columns:
            return text[:i] + "…"
    return text


def width(c: str) -> int:
    """Columns of one character: 0, 1 or 2."""
    if unicodedata.combining(c) or c in _JOINERS or c in (_ISOLATE, _POP):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def name(text: str, token_id: int, columns: int = 16) -> str:
    """What a token is called in a figure or a sentence: its visible text, or its id where it has none.

    A token that only begins a character has no text of its own.
    """
    return f"{_ISOLATE}{shorten(visible(text), columns)}{_POP}" if text else f"#{token_id}"


def literal(text: str) -> str:
    """text for Plotly, which takes <b>, &lt; and the like for commands: what comes out shows as `text`."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _seen(c: str) -> str:
    if c in _VISIBLE:
        return _VISIBLE[c]
    if c in _JOINERS or unicodedata.category(c) not in _SHAPELESS:
        return c
    return f"‹{ord(c):04X}›"
