"""What the lab is asked about, checked: a browser may send any JSON."""

import math
import reprlib
import secrets
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

from ..records import as_text, is_real, is_whole
from ..words import Refusal, Saying
from .rules import LOSSLESS, RULES, Rule

LEAST, MOST = 2, 12  # tokens
LONGEST = 40  # characters of a token's name
MOST_DRAWS = 1_000_000
SEEDS = 2**31

#: By how much a sum may miss 1, as six decimals typed by hand or the rounding of a model's own float32 do.
NEAR = 1e-5

_HUGE = 1e300  # beyond it a whole number of JSON may be no float


class Setting(NamedTuple):
    """Names of V tokens, the target's and the draft's distribution of them (V,) in float64, and the rule's name."""

    tokens: tuple[str, ...]
    p: torch.Tensor
    q: torch.Tensor
    rule_name: str

    @property
    def rule(self) -> Rule:
        return RULES[self.rule_name]


class NoDistribution(Refusal):
    """Values that are no distribution; `side` is "p" or "q"."""

    def __init__(self, side: str, said: str, /, **values: object) -> None:
        super().__init__(said, **values)
        self.side = side


def setting(question: object) -> Setting:
    """From {tokens, p, q, rule}. Raises Refusal: what is wrong, and what is legal; NoDistribution: of which side."""
    asked = question if isinstance(question, Mapping) else {}
    tokens = _tokens(asked.get("tokens"))
    p, q = (_distribution(side, asked.get(side), tokens) for side in ("p", "q"))
    rule = asked.get("rule", LOSSLESS)
    if not isinstance(rule, str) or rule not in RULES:
        raise Refusal("lab_no_such_rule", rule=_shown(rule), rules=", ".join(RULES))
    return Setting(tokens, p, q, rule)


def _tokens(names: object) -> tuple[str, ...]:
    if not isinstance(names, list) or not LEAST <= len(names) <= MOST:
        count = len(names) if isinstance(names, list) else 0
        raise Refusal("lab_token_count", count=count, least=LEAST, most=MOST)
    texts = [as_text(name)[:LONGEST] for name in names]
    return tuple(text if text.strip() else f"#{place}" for place, text in enumerate(texts, 1))


def _distribution(side: str, values: object, tokens: Sequence[str]) -> torch.Tensor:
    if not isinstance(values, list) or len(values) != len(tokens):
        count = len(values) if isinstance(values, list) else 0
        raise NoDistribution(side, "lab_value_count", side=side, count=count, tokens=len(tokens))
    for token, value in zip(tokens, values):
        if not is_real(value) or not 0 <= value <= 1:
            raise NoDistribution(side, "lab_no_probability", side=side, token=_plain(token), value=_shown(value))
    total = math.fsum(values)
    if abs(total - 1) > NEAR:
        raise NoDistribution(side, "lab_no_sum", side=side, total=f"{total:.6g}")
    return torch.tensor(values, dtype=torch.float64) / total


def normalised(values: object) -> list[float]:
    """`values` in proportion, summing to 1: what is no number above 0 counts as 0; if none is left, equal shares."""
    listed = values[:MOST] if isinstance(values, list) else []
    numbers = [float(min(x, _HUGE)) if is_real(x) and x > 0 else 0.0 for x in listed]
    largest = max(numbers, default=0.0)
    if not largest:
        return [1 / len(numbers) for _ in numbers]
    shares = [x / largest for x in numbers]  # else the sum of two huge ones would be infinite
    total = math.fsum(shares)
    return [x / total for x in shares]


def draw_count(question: Mapping[str, object]) -> int:
    """Raises Refusal."""
    n = question.get("n")
    if not is_whole(n) or not 1 <= n <= MOST_DRAWS:
        raise Refusal("lab_draw_count", value=_shown(n), most=f"{MOST_DRAWS:,}")
    return n


def seed_of(question: Mapping[str, object]) -> int:
    """The seed asked for, else any. Raises Refusal."""
    seed = question.get("seed")
    if seed is None or seed == "":
        return secrets.randbelow(SEEDS)
    if isinstance(seed, str) and seed.isascii() and seed.isdigit() and len(seed) <= 10:
        seed = int(seed)
    if not is_whole(seed) or not 0 <= seed < SEEDS:
        raise Refusal("lab_seed", value=_shown(seed), most=f"{SEEDS - 1:,}")
    return seed


def _shown(value: object) -> object:
    if value is None or value == "":
        return Saying("lab_nothing")
    return _plain(as_text(value)[:LONGEST]) if isinstance(value, str) else reprlib.repr(value)


def _plain(text: str) -> str:
    """What a sentence can hold: a mark that turns its direction, say, would change all that stands behind it."""
    return text if text.isprintable() else repr(text)
