"""The race: turns by the lanes' own clocks, nothing lost, everything closed."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_models import historic

from specdemo.drafters import ModelDrafter
from specdemo.engine import decode, speculate
from specdemo.race import race
from specdemo.records import Round, SamplingParams


def lane(durations: Sequence[float], prefill: float = 0.0, log: list[str] | None = None) -> Iterator[Round]:
    """Rounds that say they took so long; each second is split over the three stretches of a round."""
    try:
        for i, d in enumerate(durations):
            yield Round(i, 0, (), 0.5 * d, 0.25 * d, 0.25 * d, prefill if i == 0 else 0.0)
    finally:
        if log is not None:
            log.append("closed")


def order(**lanes: Iterator[Round]) -> str:
    return "".join(name for name, _ in race(lanes))


def test_whoever_is_behind_goes_next() -> None:
    """a takes 2 a round, b takes 1: a begins at 0, 2, 4 and b at 0, 1, 2, 3; at a tie the first named one goes."""
    assert order(a=lane([2, 2, 2]), b=lane([1, 1, 1, 1])) == "abbabba"


def test_ties_go_to_the_first_named() -> None:
    assert order(b=lane([1, 1]), a=lane([1, 1])) == "baba"


def test_reading_the_prompt_counts() -> None:
    assert order(a=lane([1, 1], prefill=5), b=lane([1] * 8)) == "abbbbbbabb"


def test_a_lane_that_is_done_leaves_the_other_its_time() -> None:
    assert order(a=lane([1]), b=lane([5, 5, 5])) == "abbb"
    assert order(a=lane([]), b=lane([1])) == "b"
    assert order() == ""


DURATIONS = st.lists(st.floats(0, 3), max_size=12)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(DURATIONS, min_size=1, max_size=3), st.floats(0, 2))
def test_rounds_come_in_the_order_of_their_starts(lanes: list[list[float]], prefill: float) -> None:
    """Each round starts where its lane's clock stands; starts never go back, and nothing is lost."""
    clocks = [0.0] * len(lanes)
    told: list[list[Round]] = [[] for _ in lanes]
    latest = 0.0
    for i, round_ in race({i: lane(durations, prefill) for i, durations in enumerate(lanes)}):
        assert clocks[i] >= latest
        latest = clocks[i]
        clocks[i] += round_.prefill_s + round_.seconds
        told[i].append(round_)
    assert told == [list(lane(durations, prefill)) for durations in lanes]


def test_closing_it_closes_the_lanes() -> None:
    log: list[str] = []
    lanes = {"a": lane([1, 1], log=log), "b": lane([1, 1], log=log)}  # held on to, or they would be closed as litter
    rounds = race(lanes)
    next(rounds), next(rounds)
    rounds.close()
    assert log == ["closed", "closed"]


def test_a_lane_that_fails_closes_the_other() -> None:
    log: list[str] = []

    def failing() -> Iterator[Round]:
        yield from lane([1])
        raise ZeroDivisionError

    lanes = {"a": lane([1] * 9, log=log), "b": failing()}
    with pytest.raises(ZeroDivisionError):
        list(race(lanes))
    assert log == ["closed"]


def test_the_race_changes_neither_lane() -> None:
    """Interleaved on one device or alone: the same rounds but for their times."""
    table, params = [[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], SamplingParams(seed=6, max_new_tokens=30)

    def lanes() -> dict[str, Iterator[Round]]:
        draft = ModelDrafter(historic(table[::-1]))
        return {
            "speculative": speculate(historic(table), draft, [0], params, k=3),
            "plain": decode(historic(table), [0], params),
        }

    together: dict[str, list] = {"speculative": [], "plain": []}
    for name, round_ in race(lanes()):
        together[name].append(round_.events)
    assert together == {name: [round_.events for round_ in rounds] for name, rounds in lanes().items()}
