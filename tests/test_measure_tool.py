"""What the page takes from the engine, found again where it was put in by hand."""

import random

import numpy as np
import pytest

from tools.measure.lost import Noted, Span, lost, spent, work
from tools.measure.show import interval

TURN_S = 0.1


def written(slowness: float, count: int = 400) -> tuple[list[Noted], list[Span], float]:
    """A run of two lanes, the turns in which the page goes on, and the seconds that it loses by them: meanwhile the
    engine does `1 - slowness` of its work. Some rounds are far longer than others."""
    rng = random.Random(3)
    turns = [on for _ in range(count) for on in rng.sample((True, False), 2)]
    awake = [(i * TURN_S, (i + 1) * TURN_S) for i, on in enumerate(turns) if on]
    now, rounds, gone = 0.05, [], 0.0
    for index in range(count):
        lane = rng.choice(("spec", "plain"))
        left = ({"spec": 0.03, "plain": 0.02}[lane] + 1e-5 * index) * rng.choice((0.9, 1.0, 1.1, 1.5))
        begin = now
        while left > 1e-12:
            turn = int(now / TURN_S + 1e-9)
            speed = 1 - slowness * turns[turn]
            step = min(left / speed, (turn + 1) * TURN_S - now)
            now, left, gone = now + step, left - step * speed, gone + step * (1 - speed)
        rounds.append(Noted(now, now - begin, lane))
        now += 0.002  # what is between two rounds
    return rounds, awake, gone


@pytest.mark.parametrize("slowness", [0.0, 0.1, 0.4])
def test_what_a_run_loses_is_found(slowness):
    rounds, awake, gone = written(slowness)
    total = sum(round_.seconds for round_ in rounds)
    assert lost(spent(rounds, awake), work(rounds)) / total == pytest.approx(gone / total, abs=0.02)


def test_where_all_rounds_of_a_lane_are_alike_it_is_found_exactly():
    speeds, parts = (0.8, 1.0), np.array([(0.03, 0.0), (0.0, 0.02), (0.01, 0.02), (0.02, 0.005)])
    assert lost(parts, parts @ speeds) == pytest.approx(0.06 * 0.2)


def test_a_round_is_parted_where_turns_begin_and_end():
    parts = spent([Noted(1.0, 0.4, "spec"), Noted(2.0, 0.5, "plain")], [(0.5, 0.7), (0.9, 1.6)])
    assert parts == pytest.approx(np.array([(0.2, 0.2), (0.1, 0.4)]))


@pytest.mark.parametrize(("n", "low", "high"), [(1, 1, 1), (5, 1, 5), (6, 1, 6), (9, 2, 8), (20, 6, 15)])
def test_an_interval_of_the_median_goes_by_the_sign_test(n, low, high):
    """Ranks as in the tables of the binomial law."""
    assert interval(range(n, 0, -1)) == (low, high)
