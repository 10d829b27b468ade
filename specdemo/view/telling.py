"""One round of the lab, step by step: what is said of each step, and which parts of the flow stand out."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from ..lab.draws import Draws
from ..lab.laws import Laws
from ..lab.rules import Rule
from ..palette import ThemeName
from ..records import Outcome, TokenEvent
from ..words import Saying, Words
from .figure import Figure
from .flow import Part
from .numbers import brief, comparable
from .plots import coin_figure
from .spelling import name


class Step(NamedTuple):
    said: Saying
    lit: tuple[Part, ...]


def steps(
    tokens: Sequence[str], rule: Rule, p: torch.Tensor, q: torch.Tensor, masses: Laws, round_: Draws
) -> Iterator[Step]:
    """Of the first of the rounds: the draft, the verdict, and after a refusal what is drawn instead."""
    first, coin, second = round_.uniforms[0].tolist()
    x, y, kept = (row[0].item() for row in (round_.drafts, round_.tokens, round_.kept))
    drafted = ("draft", x)
    yield Step(_stretch("lab_step_drafted", tokens, x, masses.drawn, first), (drafted,))
    better, worse = (row[x].item() for row in rule.judged(p, q))
    judged = ("kept" if kept else "refused", x)
    yield Step(_verdict(rule, name(tokens[x], x), kept, coin, better, worse), (drafted, judged))
    if kept:
        return
    said = (
        _stretch("lab_step_same_coin", tokens, y, masses.redrawn, coin)
        if rule.one_coin
        else _stretch("lab_step_again", tokens, y, masses.redrawn, second)
    )
    yield Step(said, (drafted, judged, ("pool", 0), ("again", y)))


def _stretch(key: str, tokens: Sequence[str], x: int, law: torch.Tensor, u: float) -> Saying:
    """Which stretch of [0, 1) the uniform fell into, and so which token it draws."""
    high = law[: x + 1].sum().item()
    low = high - law[x].item()
    return Saying(key, u=comparable(u, high)[0], low=brief(max(low, 0.0)), high=brief(high), token=name(tokens[x], x))


def _verdict(rule: Rule, token: str, kept: bool, u: float, better: float, worse: float) -> Saying:
    verdict = "kept" if kept else "refused"
    if not rule.coin:
        return Saying(f"lab_blindly_{verdict}", token=token)
    if better >= worse:
        return Saying("lab_step_kept_surely", token=token, p=brief(better), q=brief(worse))
    coin, ratio = comparable(u, better / worse)
    return Saying(f"lab_step_{verdict}", token=token, u=coin, p=brief(better), q=brief(worse), ratio=ratio)


def coin_of(
    tokens: Sequence[str],
    rule: Rule,
    p: torch.Tensor,
    q: torch.Tensor,
    round_: Draws,
    theme: ThemeName,
    words: Words,
) -> Figure | None:
    """The coin of the first of the rounds; None where the rule throws none."""
    if not rule.coin:
        return None
    x = round_.drafts[0].item()
    better, worse = (row[x].item() for row in rule.judged(p, q))
    outcome = Outcome.ACCEPTED if round_.kept[0] else Outcome.REJECTED
    event = TokenEvent(x, outcome, better, worse, round_.uniforms[0, 1].item(), text=tokens[x])
    return coin_figure(event, theme, words)
