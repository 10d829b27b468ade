"""What scripts are told by the endpoints: the types that gradio describes to them, and how they are made."""

from collections.abc import Mapping
from typing import TypedDict

from ..check.sampled import Comparison
from ..palette import ThemeName
from ..records import Round, TokenEvent
from ..session import LANES
from ..session.asking import Question
from ..session.proof import Proof
from ..words import Words


class Begun(TypedDict):
    """The first word of a run: its id, for `cancel` and `trace`, and the seed that repeats it."""

    run: str
    seed: int


class Token(TypedDict):
    """q is null where nothing was drafted, u where no coin was thrown."""

    text: str
    id: int
    outcome: str
    p: float
    q: float | None
    u: float | None


class Written(TypedDict):
    """A round of a lane: "spec" is speculative sampling, "plain" the target alone. Seconds are the engine's own, of the
    draft, the verification, the rest, and the reading of the prompt."""

    lane: str
    index: int
    tokens: list[Token]
    draft_s: float
    verify_s: float
    other_s: float
    prefill_s: float


class Over(TypedDict):
    """The last word of a run: done or stopped, the text of each lane, and the numbers of the page.

    why     of a run that is done, of each lane: stop (a stop token), cap (as long as was asked for), context (no room
            is left) or time (the server gives a run no longer)
    most_s  the seconds that a run has, where a lane ended by them; else null
    """

    run: str
    end: str
    why: dict[str, str]
    most_s: float | None
    text: dict[str, str]
    stats: dict


class Stopped(TypedDict):
    """A run that was told to stop, and how it ended, be it before that."""

    run: str
    end: str


class Offer(TypedDict):
    """A pair to choose by its name."""

    name: str
    title: str
    target: str
    draft: str
    note: str


class Law(TypedDict):
    """The first `length` tokens of the runs against the target's own law of them."""

    length: int
    chi2: float
    cells: int
    p_value: float
    total_variation: float
    expected_total_variation: float
    impossible: int


class Checked(TypedDict):
    """What a check has found so far, of `asked` runs; `over` marks the last word.

    exact_error is the largest difference, at any of the positions, between the probability that a token comes out and
    the target's; `kept` the share of runs that kept their first draft, `alpha` the share that was foretold.
    """

    over: bool
    lossless: bool
    positions: int
    exact_error: float
    miscast_coins: int
    runs: int
    asked: int
    laws: list[Law]
    kept: float | None
    alpha: float | None


def written(lane: str, round_: Round) -> Written:
    return {
        "lane": lane,
        "index": round_.index,
        "tokens": [_token(event) for event in round_.events],
        "draft_s": round_.draft_s,
        "verify_s": round_.verify_s,
        "other_s": round_.other_s,
        "prefill_s": round_.prefill_s,
    }


def _token(event: TokenEvent) -> Token:
    outcome = event.outcome.value
    return {"text": event.text, "id": event.token_id, "outcome": outcome, "p": event.p, "q": event.q, "u": event.u}


def ended(phase: Mapping[str, object]) -> dict[str, object]:
    """How a run ended, by its last phase as the page is told it."""
    why = {lane: phase[lane] for lane in LANES if lane in phase}
    return {"end": phase["name"], "why": why, "most_s": float(phase["most"]) if "most" in phase else None}


def text_of(rounds: Mapping[str, list[Round]]) -> dict[str, str]:
    return {lane: "".join(e.text for one in rounds[lane] for e in one.emitted) for lane in rounds}


def found(proof: Proof, question: Question, theme: ThemeName, words: Words) -> dict[str, object]:
    """As a `Show` of measurements: a `Checked` but for `over`."""
    verdict = proof.verdict
    return {
        "lossless": verdict.lossless,
        "positions": verdict.exact.positions,
        "exact_error": verdict.exact.error,
        "miscast_coins": verdict.exact.miscast,
        "runs": verdict.runs,
        "asked": proof.asked,
        "laws": [_law(one) for one in verdict.comparisons],
        "kept": verdict.kept,
        "alpha": verdict.alpha,
    }


def _law(one: Comparison) -> Law:
    return {
        "length": one.length,
        "chi2": one.engine.chi2,
        "cells": one.engine.cells,
        "p_value": one.engine.p_value,
        "total_variation": one.engine.distance,
        "expected_total_variation": one.engine.expected_distance,
        "impossible": one.engine.impossible,
    }
