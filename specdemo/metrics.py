"""Counts, times and rates of a run, and why speculation did not pay when it did not."""

from collections import Counter
from collections.abc import Container, Iterable
from enum import StrEnum

from .records import Outcome, Round, RunStats, SamplingParams


def measure(rounds: Iterable[Round]) -> RunStats:
    """The statistics of the rounds of one lane, finished or not."""
    rounds = tuple(rounds)
    counts = Counter(event.outcome for round_ in rounds for event in round_.events)
    return RunStats(
        rounds=len(rounds),
        drafted=sum(round_.k for round_ in rounds),
        **{outcome.value: counts[outcome] for outcome in Outcome},
        emitted=sum(n for outcome, n in counts.items() if outcome.emitted),
        prefill_s=sum(round_.prefill_s for round_ in rounds),
        first_token_s=rounds[0].prefill_s + rounds[0].seconds if rounds else None,
        draft_s=sum(round_.draft_s for round_ in rounds),
        verify_s=sum(round_.verify_s for round_ in rounds),
        other_s=sum(round_.other_s for round_ in rounds),
        judge_s=sum(round_.judge_s for round_ in rounds),
        look_s=sum(round_.look_s for round_ in rounds),
    )


def speedup(speculative: RunStats, plain: RunStats) -> float | None:
    """Tokens a second of the one over the other, prompts not counted; None until both have a speed."""
    if not speculative.tokens_per_second or not plain.tokens_per_second:
        return None
    return speculative.tokens_per_second / plain.tokens_per_second


class Ending(StrEnum):
    """Why a lane that came to its end did so."""

    STOP = "stop"  # a stop token
    CAP = "cap"  # as long as was asked for
    CONTEXT = "context"  # no room is left
    TIME = "time"  # the server gives a run no longer


def why_ended(
    rounds: Iterable[Round], params: SamplingParams, stop_ids: Container[int], cut: bool = False
) -> Ending:
    """The reason of a lane's end; all of its rounds are needed. `cut`: its time was over."""
    emitted = [event.token_id for round_ in rounds for event in round_.emitted]
    if emitted and emitted[-1] in stop_ids:
        return Ending.STOP
    if len(emitted) >= params.max_new_tokens:
        return Ending.CAP
    return Ending.TIME if cut else Ending.CONTEXT


class Slowdown(StrEnum):
    """The main reason why speculation lost."""

    DRAFT_SLOW = "draft_slow"  # with a draft that cost nothing it would have won
    ACCEPTANCE_LOW = "acceptance_low"  # too few tokens a pass, whatever the draft costs
    VERIFY_COSTLY = "verify_costly"  # enough tokens a pass, but a pass over K + 1 costs far more than one over 1
    OVERHEAD = "overhead"  # the time between the passes ate the gain


def why_slower(speculative: RunStats, plain: RunStats) -> Slowdown | None:
    """The reason of a speed-up below 1, by asking which cost alone would have to go; None where there is none.

    In units of a plain token's time, a round earns `tokens` and pays for draft, verification and the rest.
    """
    gain = speedup(speculative, plain)
    if gain is None or gain >= 1 or not speculative.drafted:
        return None
    token_s = plain.seconds / plain.emitted
    tokens, verify, other = (
        x / speculative.rounds
        for x in (speculative.emitted, speculative.verify_s / token_s, speculative.other_s / token_s)
    )
    if tokens > verify + other:
        return Slowdown.DRAFT_SLOW
    if tokens > verify:
        return Slowdown.OVERHEAD
    return Slowdown.ACCEPTANCE_LOW if verify < 2 else Slowdown.VERIFY_COSTLY
