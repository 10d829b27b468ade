"""The front matter of README.md, by which a Space is made: read, and held against what the hub accepts.

Sources: the hub's "Spaces Configuration Reference"; the flavours that `hf repos create --help` of huggingface_hub 2.4
lists.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

COLOURS = ("red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray")
HARDWARE = (
    *("cpu-basic", "cpu-upgrade", "zero-a10g", "t4-small", "t4-medium", "l4x1", "l4x4", "l40sx1", "l40sx4", "l40sx8"),
    *("a10g-small", "a10g-large", "a10g-largex2", "a10g-largex4", "a100-large", "a100x4", "a100x8"),
    *("rtx-pro-6000", "rtx-pro-6000x2", "rtx-pro-6000x4", "rtx-pro-6000x8"),
)
MOST_DESCRIPTION = 60  # characters

_BLOCK = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_REVISION = re.compile(r"[0-9a-f]{40}")


class Rule(NamedTuple):
    """What a field may be, and the words for it."""

    legal: Callable[[object], bool]
    words: str
    needed: bool = False


def front_matter(readme: Path) -> Mapping[str, object]:
    """Raises ValueError where the file does not begin with fields and values of YAML."""
    block = _BLOCK.match(readme.read_text("utf-8"))
    if block is None:
        raise ValueError(f"{readme.name} does not begin with a block between two lines of ---")
    try:
        front = yaml.safe_load(block[1])
    except yaml.YAMLError as error:
        raise ValueError(f"{readme.name}: {' '.join(str(error).split())}") from error
    if not isinstance(front, dict):
        raise ValueError(f"{readme.name}: its front matter has no fields")
    return front


def faults(front: Mapping[str, object]) -> Iterator[str]:
    """A sentence for each field that is missing, unknown or illegal."""
    for name, rule in RULES.items():
        if name not in front and rule.needed:
            yield f"{name} is missing; it must be {rule.words}"
        elif name in front and not rule.legal(front[name]):
            yield f"{name} is {front[name]!r}; it must be {rule.words}"
    for name in front.keys() - RULES.keys():
        yield f"{name} is no field that is known here"
    for line in preloaded(front):
        if isinstance(models := front.get("models"), list) and line.split()[0] not in models:
            yield f"preload_from_hub has {line.split()[0]}, which models does not list"


def preloaded(front: Mapping[str, object]) -> list[str]:
    lines = front.get("preload_from_hub")
    return lines if _lines_of(lines, _preload) else []


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _one_of(*choices: str) -> Rule:
    return Rule(lambda value: value in choices, " or ".join(choices))


def _pattern(pattern: str, words: str, needed: bool = False) -> Rule:
    return Rule(lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None, words, needed)


def _lines_of(value: object, legal: Callable[[str], bool]) -> bool:
    return isinstance(value, list) and all(isinstance(line, str) and legal(line) for line in value)


def _hub_id(text: str) -> bool:
    return _HUB_ID.fullmatch(text) is not None


def _preload(text: str) -> bool:
    """A hub id, then perhaps files with commas between them, then perhaps a commit."""
    words = text.split()
    return 1 <= len(words) <= 3 and _hub_id(words[0]) and (len(words) < 3 or _REVISION.fullmatch(words[2]) is not None)


RULES: Mapping[str, Rule] = {
    "title": Rule(_text, "a text", needed=True),
    "emoji": Rule(lambda value: _text(value) and not any(c.isascii() for c in value), "an emoji and nothing else"),
    "colorFrom": _one_of(*COLOURS),
    "colorTo": _one_of(*COLOURS),
    "sdk": _pattern("gradio", "gradio", needed=True),
    "sdk_version": _pattern(r"\d+\.\d+\.\d+", "gradio's version, three numbers", needed=True),
    "python_version": _pattern(r"3\.\d+(\.\d+)?", "a version of Python in quotes", needed=True),
    "app_file": Rule(_text, "the file to run", needed=True),
    "suggested_hardware": _one_of(*HARDWARE),
    "models": Rule(lambda value: _lines_of(value, _hub_id), "a list of hub ids, OWNER/NAME each"),
    "preload_from_hub": Rule(
        lambda value: _lines_of(value, _preload),
        'a list of "OWNER/NAME", "OWNER/NAME FILES" or "OWNER/NAME FILES COMMIT"',
    ),
    "short_description": Rule(
        lambda value: _text(value) and len(value) <= MOST_DESCRIPTION,
        f"a text of at most {MOST_DESCRIPTION} characters",
    ),
    "license": Rule(_text, "the licence's name on the hub", needed=True),
    "pinned": Rule(lambda value: isinstance(value, bool), "true or false"),
    "header": _one_of("default", "mini"),
    "startup_duration_timeout": _pattern(r"\d+[smh]", "a number and s, m or h"),
    "tags": Rule(lambda value: _lines_of(value, _text), "a list of texts"),
}
