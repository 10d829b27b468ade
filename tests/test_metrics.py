"""Counts, rates and reasons against rounds made by hand."""

from dataclasses import replace

import pytest

from specdemo.metrics import Slowdown, measure, speedup, why_slower
from specdemo.records import Outcome, Round, RunStats, TokenEvent

LETTERS = {outcome.value[0].upper(): outcome for outcome in Outcome if outcome is not Outcome.RESAMPLED}
LETTERS["S"] = Outcome.RESAMPLED


def round_(index: int, letters: str, draft_s: float, verify_s: float, other_s: float, prefill_s: float = 0.0) -> Round:
    """A: accepted, R: rejected, D: discarded, S: resampled, B: bonus, P: plain."""
    events = tuple(TokenEvent(i, LETTERS[letter], 0.5) for i, letter in enumerate(letters))
    return Round(index, sum(letter in "ARD" for letter in letters), events, draft_s, verify_s, other_s, prefill_s)


ROUNDS = [
    round_(0, "AARDS", 0.4, 0.3, 0.1, prefill_s=2.0),
    round_(1, "AAAAB", 0.4, 0.3, 0.1),
    round_(2, "RDDDS", 0.4, 0.3, 0.1),
    round_(3, "AAD", 0.3, 0.2, 0.1),
]


def test_counts_and_times() -> None:
    stats = measure(ROUNDS)
    counts = dict(rounds=4, drafted=15, accepted=8, rejected=2, discarded=5, resampled=2, bonus=1, plain=0, emitted=11)
    assert {name: getattr(stats, name) for name in counts} == counts
    times = dict(prefill_s=2.0, first_token_s=2.8, draft_s=1.5, verify_s=1.1, other_s=0.4, seconds=3.0)
    assert {name: getattr(stats, name) for name in times} == pytest.approx(times)
    finer = measure([replace(r, judge_s=0.03, look_s=0.02) for r in ROUNDS])
    assert (finer.judge_s, finer.look_s) == pytest.approx((0.12, 0.08))
    assert stats.acceptance == 8 / 10
    assert stats.tokens_per_pass == 11 / 4
    assert stats.tokens_per_second == pytest.approx(11 / 3), "the prompt is not counted"


def test_a_part_of_a_run_and_any_iterable_can_be_measured() -> None:
    assert measure(iter(ROUNDS[:1])).emitted == 3
    assert measure(ROUNDS[:2]).rounds == 2


def test_what_has_no_denominator_has_no_rate() -> None:
    nothing = measure([])
    assert (nothing.rounds, nothing.emitted, nothing.seconds) == (0, 0, 0)
    assert nothing.acceptance is nothing.tokens_per_pass is nothing.tokens_per_second is nothing.first_token_s is None
    plain = measure([round_(0, "P", 0, 1, 0)])
    assert plain.acceptance is None and plain.tokens_per_pass == 1
    assert measure([round_(0, "AD", 0, 1, 0)]).acceptance == 1
    assert speedup(nothing, plain) is speedup(plain, nothing) is why_slower(nothing, plain) is None


def lane(tokens: int, rounds: int, draft: float, verify: float, other: float, drafted: int = 40) -> RunStats:
    """A lane with so many tokens and rounds, and so many seconds in each stretch."""
    base = replace(measure([]), rounds=rounds, emitted=tokens, drafted=drafted)
    return replace(base, draft_s=draft, verify_s=verify, other_s=other, prefill_s=99.0)


PLAIN = lane(100, 100, 0, 95, 5, drafted=0)  # a token a second


def test_speedup_is_tokens_a_second_over_tokens_a_second() -> None:
    assert speedup(lane(100, 25, 10, 35, 5), PLAIN) == pytest.approx(2)
    assert speedup(lane(60, 20, 60, 55, 5), PLAIN) == pytest.approx(0.5), "below 1 it is shown as it is"


@pytest.mark.parametrize(
    ("stats", "reason"),
    [
        (lane(30, 10, 5, 12, 3), None),  # 30 tokens in 20 s: faster
        (lane(20, 10, 5, 12, 3), None),  # exactly as fast
        (lane(30, 10, 25, 12, 3), Slowdown.DRAFT_SLOW),  # 30 tokens, 15 s without the draft
        (lane(12, 10, 5, 11, 0), Slowdown.DRAFT_SLOW),
        (lane(15, 10, 5, 12, 4), Slowdown.OVERHEAD),  # 15 tokens, 12 s of passes, 16 s with what lies between
        (lane(11, 10, 5, 12, 1), Slowdown.ACCEPTANCE_LOW),  # 1.1 tokens a pass do not even pay for the pass
        (lane(30, 10, 5, 40, 1), Slowdown.VERIFY_COSTLY),  # 3 tokens a pass, and a pass costs 4
        (lane(10, 10, 0, 12, 1, drafted=0), None),  # nothing was drafted, so nothing of it can be to blame
    ],
)
def test_the_reason_of_a_slowdown(stats: RunStats, reason: Slowdown | None) -> None:
    assert why_slower(stats, PLAIN) is reason
