"""The rows of a position against the whole distributions they stand for."""

import pytest
import torch
from events import DRAFTED, event, law, sample

from specdemo import maths
from specdemo.records import Outcome, TokenEvent, TopRow
from specdemo.view.position import SHOWN, folded, residual, rows

SEEDS = range(1, 9)


def laws(seed: int, size: int = 200) -> tuple[list[float], list[float]]:
    return law(size, 2 * seed, 20.0), law(size, 2 * seed + 1, 20.0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("outcome", Outcome)
def test_nothing_is_lost(outcome, seed):
    """The masses of the rows are those of the whole vocabulary."""
    p, q = laws(seed)
    here = rows(sample(outcome, seed))
    assert sum(row.p for row in here) == pytest.approx(1)
    for row in here:
        assert row.shared + row.gap == pytest.approx(row.p)
        assert min(row.p, row.shared, row.over, row.gap) >= 0
    if outcome in DRAFTED:
        assert sum(row.q for row in here) == pytest.approx(1)
        assert sum(row.shared for row in here) == pytest.approx(sum(map(min, p, q)))
        assert sum(row.over for row in here) == pytest.approx(sum(max(0, b - a) for a, b in zip(p, q)))
        assert sum(row.gap for row in here) == pytest.approx(sum(max(0, a - b) for a, b in zip(p, q)))
    else:
        assert all(row.q is None and row.shared == row.over == 0 for row in here)


@pytest.mark.parametrize("outcome", Outcome)
def test_tokens_are_the_likeliest_and_the_own_one(outcome):
    p, q = laws(3)
    here = rows(sample(outcome, 3))
    weight = [max(a, b) if outcome in DRAFTED else a for a, b in zip(p, q)]
    tokens = [row for row in here if row.token_id is not None]
    assert len(tokens) == SHOWN and here[-1].token_id is None
    assert [row.mine for row in here].count(True) == 1
    own = next(row for row in here if row.mine).token_id
    expected = sorted(range(200), key=lambda i: -weight[i])
    expected = sorted({own, *[i for i in expected if i != own][: SHOWN - 1]}, key=lambda i: -weight[i])
    assert [row.token_id for row in tokens] == expected
    assert all(row.p == p[row.token_id] for row in tokens)


@pytest.mark.parametrize("shown", [1, 2, 5])
@pytest.mark.parametrize("outcome", Outcome)
def test_folding_keeps_the_own_token_and_every_mass(outcome, shown):
    whole = sample(outcome, 4)
    less = rows(folded(whole, shown))
    assert len(less) == shown + 1 and [row.mine for row in less].count(True) == 1
    for mass in ("p", "shared", "over", "gap"):
        assert sum(getattr(row, mass) for row in less) == pytest.approx(sum(getattr(row, mass) for row in rows(whole)))
    assert less[-1].q is None if outcome not in DRAFTED else sum(row.q for row in less) == pytest.approx(1)


def test_an_unlikely_token_is_shown_all_the_same():
    p, q = laws(5)
    least = min(range(200), key=lambda i: max(p[i], q[i]))
    here = rows(event(Outcome.ACCEPTED, p, q, least, u=0.1))
    assert here[-2].token_id == least and here[-2].mine


def test_a_token_that_was_not_recorded_is_taken_out_of_the_rest():
    p, q = [0.5, 0.2, 0.3], [0.4, 0.35, 0.25]
    bare = TokenEvent(1, Outcome.ACCEPTED, 0.2, 0.35, 0.1, 0.85, (TopRow(0, "a", 0.5, 0.4),), (0.5, 0.6), "x")
    here = rows(bare)
    assert [row.token_id for row in here] == [0, 1, None]
    assert [row.p for row in here] == pytest.approx(p) and [row.q for row in here] == pytest.approx(q)


def test_few_tokens_leave_no_rest():
    assert [row.token_id for row in rows(event(Outcome.ACCEPTED, [0, 1, 0], [0.25, 0.75, 0], 1, u=0.0))] == [1, 0]
    assert len(rows(event(Outcome.PLAIN, [0.0, 1.0], None, 1))) == 1


def test_rounding_is_not_everything_else():
    full = event(Outcome.ACCEPTED, [0.5, 0.5], [0.5, 0.5], 1, u=0.0)
    noisy = TokenEvent(1, full.outcome, full.p, full.q, full.u, 0.99999994, full.top, (6e-8, 1.2e-7), "x")
    assert [row.token_id for row in rows(noisy)] == [0, 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_residual_is_the_one_of_the_maths(seed):
    p, q = laws(seed)
    exact = maths.residual(torch.tensor([p], dtype=torch.float64), torch.tensor([q], dtype=torch.float64))[0].tolist()
    resampled = sample(Outcome.RESAMPLED, seed)
    here = rows(resampled)
    shares = residual(resampled, here)
    assert shares[:-1] == pytest.approx([exact[row.token_id] for row in here[:-1]])
    assert sum(shares) == pytest.approx(1)


def test_residual_where_p_and_q_agree_is_p():
    same = event(Outcome.RESAMPLED, [0.25, 0.75], [0.25, 0.75], 1)
    assert residual(same, rows(same)) == [0.75, 0.25]


def test_residual_where_they_nearly_agree_is_at_most_one():
    """α in float32 may be 1 although a gap is left."""
    row = event(Outcome.RESAMPLED, [0.25, 0.75], [0.25 + 1e-8, 0.75 - 1e-8], 1)
    near = TokenEvent(1, row.outcome, row.p, row.q, None, 1.0, row.top, row.rest, "x")
    assert residual(near, rows(near)) == [1.0, 0.0]
