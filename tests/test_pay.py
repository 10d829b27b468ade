"""The formulas by hand and by simulation; what a run says of them, on rounds made by hand; the turns of a sweep."""

import random

import pytest
from tiny import tiny_pair

from specdemo import sweep as sweep_module
from specdemo.metrics import measure
from specdemo.pay import Costs, Position, by_position, economy, expected_speedup, expected_tokens, swept, swept_costs
from specdemo.records import Outcome, Round, SamplingParams, TokenEvent
from specdemo.sweep import sweep

A, R, D, S, B, P = Outcome


def round_(*outcomes, draft_s=0.0, verify_s=0.0, other_s=0.0):
    """A round whose last outcome is no draft, unless all are."""
    k = sum(outcome in (A, R, D) for outcome in outcomes)
    return Round(0, k, tuple(TokenEvent(1, outcome, 0.5) for outcome in outcomes), draft_s, verify_s, other_s)


def plain_rounds(n, seconds):
    return [round_(P, verify_s=seconds) for _ in range(n)]


# -- the formulas -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "k", "tokens"),
    [(0.0, 5, 1.0), (0.5, 3, 1.875), (0.8, 5, 3.68928), (1.0, 4, 5.0), (0.9, 0, 1.0)],
)
def test_tokens_a_round_by_hand(alpha, k, tokens):
    assert expected_tokens(alpha, k) == pytest.approx(tokens, abs=1e-12)
    if alpha < 1:
        assert expected_tokens(alpha, k) == pytest.approx((1 - alpha ** (k + 1)) / (1 - alpha), abs=1e-12)


def test_tokens_a_round_by_simulation():
    """Rounds of coins. Five standard errors: a false alarm in one of two million."""
    chance, n, k, alpha = random.Random(4), 20_000, 4, 0.7

    def tokens():
        return 1 + next((kept for kept in range(k) if chance.random() >= alpha), k)

    drawn = [tokens() for _ in range(n)]
    mean = sum(drawn) / n
    error = (sum((x - mean) ** 2 for x in drawn) / n / n) ** 0.5
    assert abs(mean - expected_tokens(alpha, k)) < 5 * error


def test_the_speedup_by_hand():
    assert expected_speedup(0.8, 5, 0.05) == pytest.approx(3.68928 / 1.25)
    assert expected_speedup(0.8, 5, 0.0) == expected_tokens(0.8, 5)
    assert expected_speedup(0.5, 1, 0.25, verify=1.25) == pytest.approx(1.5 / 1.5)
    assert expected_speedup(0.3, 0, 9.0) == 1.0


def test_costs_lie_on_the_lines_through_what_was_measured():
    costs = Costs(0.1, {2: 1.4, 4: 1.5})
    assert [costs.at(k) for k in (0, 1, 2, 3, 4, 6)] == pytest.approx([1.0, 1.2, 1.4, 1.45, 1.5, 1.6])
    assert Costs(0.1, {}).at(7) == 1.0
    falling = Costs(0.04, {6: 1.35, 8: 1.07})
    assert [falling.at(k) for k in (6, 7, 8, 12)] == pytest.approx([1.35, 1.21, 1.07, 1.07])
    assert falling.best_k(0.46) < 8
    assert costs.speedup(0.5, 2) == pytest.approx(1.75 / 1.6) and costs.speedup(0.5, 2, 0.0) == pytest.approx(1.25)


def test_the_best_k():
    free = Costs(0.0, {})
    assert free.best_k(0.9) == 12 and free.best_k(0.0) == 0
    assert Costs(0.1, {}).best_k(0.8) == max(range(13), key=lambda k: expected_speedup(0.8, k, 0.1))
    assert Costs(2.0, {}).best_k(0.9) == 0


# -- what a run says --------------------------------------------------------------------------------------------------


def test_acceptance_by_position():
    rounds = [
        round_(A, A, R, S),
        round_(R, D, D, S),
        round_(A, R, D, S),
        round_(A, A, A, B),
        round_(A, A, B),
        round_(P),
    ]
    assert by_position([*rounds, round_(P)]) == (Position(5, 4), Position(4, 3), Position(2, 1))
    assert by_position([round_(A, D, D)]) == (Position(1, 1),)  # a stop token ended the round: no more was judged
    assert by_position([]) == ()


def test_what_a_run_says():
    """Ten rounds of K = 2 in which a draft costs 1, all else 6; a plain token costs 4. A last round is cut to K = 1."""
    rounds = [round_(A, R, S, draft_s=2.0, verify_s=5.0, other_s=1.0) for _ in range(10)]
    found = economy([*rounds, round_(R, S, draft_s=1.0, verify_s=4.0)], plain_rounds(7, 4.0))
    assert (found.k, found.accepted, found.judged) == (2, 10, 21) and found.alpha == pytest.approx(10 / 21)
    assert found.token_s == 4.0 and found.costs.c == pytest.approx(0.25)
    assert found.costs.verify == {2: pytest.approx(1.5)}
    assert found.per_round == pytest.approx(21 / 11)
    assert found.speedup == pytest.approx(21 / 85 * 4)
    assert found.positions == (Position(11, 10), Position(10, 0))


def test_a_run_without_drafts_or_without_the_target_alone_says_nothing():
    assert economy([round_(P)], plain_rounds(3, 1.0)) is None
    assert economy([round_(A, B, draft_s=1.0)], []) is None
    assert economy([round_(A, B)], plain_rounds(3, 1.0)) is None  # no clock
    assert economy([], []) is None


def test_a_sweep_is_summed_up_by_k():
    """Of two turns: a plain token costs 2 and then 4; at K = 1 a round of two tokens costs 3 and then 12."""
    ours = [measure([round_(A, B, draft_s=d, verify_s=v)] * 4) for d, v in ((1.0, 2.0), (4.0, 8.0))]
    alone = [measure(plain_rounds(8, seconds)) for seconds in (2.0, 4.0)]
    turns = [{0: alone[0], 1: ours[0]}, {1: ours[1], 0: alone[1]}, {1: ours[0]}, {0: alone[0]}]
    (point,) = swept(turns)
    assert point.k == 1 and point.speedups == pytest.approx((4 / 3, 2 / 3)) and point.middle == pytest.approx(1.0)
    assert point.per_round == 2.0 and (point.accepted, point.judged) == (8, 8)
    assert point.c == pytest.approx(5 / 2 / 3) and point.verify == pytest.approx(10 / 2 / 3)
    costs = swept_costs([point])
    assert costs.c == point.c and costs.at(1) == point.verify
    assert swept([]) == ()


# -- the sweep itself -------------------------------------------------------------------------------------------------


def test_the_turns_of_a_sweep(monkeypatch):
    """Each K once a turn, first another one each time; all texts as long as was asked; one seed a turn."""
    pair, asked = tiny_pair(), []
    for lane in ("speculative", "plain"):
        real = getattr(sweep_module, lane)

        def spy(pair, ids, params, *k, real=real):
            asked.append((k[0] if k else 0, params.seed, params.max_new_tokens))
            return real(pair, ids, params, *k)

        monkeypatch.setattr(sweep_module, lane, spy)
    params = SamplingParams(seed=7, max_new_tokens=9)
    found = list(sweep(pair, pair.encode("the hand", True), params, [1, 3], turns=3))
    points = [point for point in found if point]
    assert [point.k for point in points] == [0, 1, 3, 1, 3, 0, 3, 0, 1]
    assert [point.turn for point in points] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert all(point.stats.emitted == 9 for point in points)
    assert asked[:3] == [(0, 7, 4), (1, 7, 4), (3, 7, 4)]
    assert [seed for _, seed, _ in asked[3:]] == [7] * 3 + [8] * 3 + [9] * 3
    assert found.count(None) >= sum(point.stats.rounds for point in points)


def test_a_closed_sweep_ends_its_run():
    pair = tiny_pair()
    steps = sweep(pair, pair.encode("the hand", True), SamplingParams(seed=1, max_new_tokens=50), [2], turns=5)
    for _ in range(8):
        next(steps)
    steps.close()
    assert list(steps) == []
