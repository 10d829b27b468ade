"""The sampler's filters against the library's own and against float64, the draw against the plain inverse CDF, and the
edges of verdict and residual. That they make a lossless rule together is the business of `test_law`."""

from itertools import product

import numpy as np
import pytest
import torch
from transformers import MinPLogitsWarper, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from specdemo import maths
from specdemo.narrow import Narrow
from specdemo.records import SamplingParams

LARGEST = 1 - 2**-53  # the largest coin


def random_logits(rows: int, width: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (3 * torch.randn(rows, width, generator=generator, dtype=torch.float64)).to(dtype)


def coins(*u: float) -> torch.Tensor:
    return torch.tensor(u, dtype=torch.float64)


# ---------------------------------------------------------------- to_probs

FILTERS = [
    SamplingParams(temperature=t, top_k=k, top_p=p, min_p=m)
    for t, k, p, m in product([0.3, 1.0, 2.5], [0, 1, 20, 10_000], [1.0, 0.9, 0.5, 1e-9], [0.0, 0.05, 1.0])
]


def by_the_library(logits: torch.Tensor, params: SamplingParams) -> torch.Tensor:
    warpers = [TemperatureLogitsWarper(params.temperature)]
    warpers += [TopKLogitsWarper(params.top_k)] if params.top_k else []
    warpers += [TopPLogitsWarper(params.top_p)] if params.top_p < 1 else []
    warpers += [MinPLogitsWarper(params.min_p)] if params.min_p else []
    for warper in warpers:
        logits = warper(None, logits)
    return logits.softmax(-1)


@pytest.mark.parametrize("params", FILTERS, ids=lambda p: f"T{p.temperature}-k{p.top_k}-p{p.top_p}-m{p.min_p}")
def test_filters_are_the_library_s(params: SamplingParams) -> None:
    """Random rows have no ties, and in float64 no sum lies within rounding of a threshold."""
    logits = random_logits(16, 400)
    ours, theirs = maths.to_probs(logits, params), by_the_library(logits, params)
    assert torch.equal(ours > 0, theirs > 0)
    assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-300)


def test_ties_with_the_last_one_kept_are_kept() -> None:
    logits = torch.tensor([[2.0, 1.0, 1.0, 1.0, 0.0]])
    probs = maths.to_probs(logits, SamplingParams(top_k=2))[0]
    assert probs.tolist() == pytest.approx([*logits[0, :4].softmax(0).tolist(), 0])
    fifths = torch.zeros(1, 5)
    assert (maths.to_probs(fifths, SamplingParams(top_p=0.3)) > 0).all()
    assert (maths.to_probs(fifths, SamplingParams(min_p=1.0)) > 0).all()


def nucleus(logits: torch.Tensor, top_p: float) -> set[int]:
    """The smallest set of likeliest tokens that holds top_p, token by token in float64."""
    probs = logits.double().softmax(-1).numpy()
    kept, mass = set(), 0.0
    for i in np.argsort(-probs, kind="stable"):
        if mass >= top_p:
            break
        kept.add(int(i))
        mass += probs[i]
    return kept


@pytest.mark.parametrize("width", [200, 300, 5_000, 100_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_wide_nucleus_is_that_of_float64(width: int, dtype: torch.dtype) -> None:
    """Near-uniform rows: thousands of tokens are inside, so every widening of the search takes part. In float32 a
    running sum over them would drift by more than a token; the steps between logits are wide enough for no tie."""
    order = torch.randperm(width, generator=torch.Generator().manual_seed(width))
    logits = (order.double() * 1e-6).to(dtype)
    probs = maths.to_probs(logits[None], SamplingParams(top_p=0.99))[0]
    kept, expected = set(probs.nonzero().flatten().tolist()), nucleus(logits, 0.99)
    ties = {int(i) for i in kept ^ expected}
    edge = min(logits[sorted(expected)]).item()
    assert all(abs(logits[i].item() - edge) < 1e-9 for i in ties), "only ties with the last one kept may differ"
    assert len(ties) < 4


def test_a_nucleus_counts_what_temperature_and_top_k_left() -> None:
    """Top-p looks at the renormalised rest: after top-k 2 the likelier one has 9/14 > .6 of the mass."""
    row = torch.tensor([[0.45, 0.25, 0.2, 0.1]]).log()
    assert maths.to_probs(row, SamplingParams(top_k=2, top_p=0.6))[0].tolist() == [1, 0, 0, 0]
    assert (maths.to_probs(row, SamplingParams(top_p=0.6)) > 0).sum() == 2


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("temperature", [0.0, 5e-324, 1e-320, 1e-40, 1e-8, 1e-5])
def test_no_temperature_is_too_small(dtype: torch.dtype, temperature: float) -> None:
    """All of these are greedy where the best logit is best by a margin, in every dtype, without overflow."""
    logits = random_logits(20, 50, dtype=dtype)
    logits[:, 7] = 60
    logits[0, 3] = -60_000
    probs = maths.to_probs(logits, SamplingParams(temperature=temperature))
    assert torch.equal(probs, torch.nn.functional.one_hot(torch.full((20,), 7), 50).to(probs.dtype))
    below = maths.to_probs(logits - 1000, SamplingParams(temperature=temperature))
    assert not below.signbit().any(), "a zero is no minus zero"


@pytest.mark.parametrize("temperature", [1e-20, 1e-8, 1e-5, 0.3, 50.0, 1e20])
def test_a_temperature_is_what_it_says(temperature: float) -> None:
    logits = random_logits(20, 50)
    probs = maths.to_probs(temperature * logits, SamplingParams(temperature=temperature))
    assert torch.allclose(probs, logits.softmax(-1), rtol=1e-9)


@pytest.mark.parametrize("params", [SamplingParams(temperature=0), SamplingParams(), SamplingParams(top_p=0.9)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_probabilities_are_float32_or_wider(dtype: torch.dtype, params: SamplingParams) -> None:
    logits = random_logits(3, 50, dtype=dtype)
    before = logits.clone()
    probs = maths.to_probs(logits, params)
    assert probs.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    assert torch.equal(logits, before), "a model's logits are not ours to change"
    assert torch.equal(probs, maths.to_probs(logits.to(probs.dtype), params)), "widened first, then worked on"
    assert probs.sum(-1).tolist() == pytest.approx([1, 1, 1], abs=1e-6)


@pytest.mark.parametrize(
    "params",
    [SamplingParams(temperature=0), SamplingParams(), SamplingParams(top_k=1), SamplingParams(top_p=0.5, min_p=0.1)],
)
@pytest.mark.parametrize("poison", [[torch.nan], [torch.inf], [torch.inf, torch.inf], "all", "every"])
def test_a_row_that_is_no_distribution_becomes_nan_and_no_other_row_does(params: SamplingParams, poison) -> None:
    logits = random_logits(3, 6)
    logits[1] = {"all": -torch.inf, "every": torch.nan}.get(poison, 0) if isinstance(poison, str) else logits[1]
    if not isinstance(poison, str):
        logits[1, 2 : 2 + len(poison)] = torch.tensor(poison, dtype=torch.float64)
    sums = maths.to_probs(logits, params).sum(-1)
    assert sums[1].isnan() and sums[[0, 2]].tolist() == pytest.approx([1, 1])


def test_a_token_of_minus_infinity_never_has_a_chance() -> None:
    logits = random_logits(4, 6)
    logits[:, 4] = -torch.inf
    for params in FILTERS:
        assert (maths.to_probs(logits, params)[:, 4] == 0).all()


@pytest.mark.parametrize("width", [1, 5, 63, 64, 65, 200, 1000, 5003])
@pytest.mark.parametrize("kind", ["random", "ties", "one-hot"])
def test_the_likeliest_are_those_of_a_full_sort(width: int, kind: str) -> None:
    """By blocks or not: the n largest values, each id once; which of several ties is left open."""
    probs = random_logits(3, width, dtype=torch.float32).softmax(-1)
    if kind == "ties":
        probs = (probs * 20).round()
    elif kind == "one-hot":
        probs = maths.to_probs(probs, SamplingParams(temperature=0))
    for n in {0, 1, 5, min(12, width), min(64, width)} - set(range(width + 1, 100)):
        ids = maths.likeliest(probs, n)
        assert ids.shape == (3, n) and all(len(set(row)) == n for row in ids.tolist())
        best = probs.sort(dim=-1, descending=True).values[:, :n]
        assert torch.equal(probs.gather(1, ids).sort(dim=-1, descending=True).values, best)


# ---------------------------------------------------------------- draw


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_draw_is_the_inverse_cdf(dtype: torch.dtype) -> None:
    """The first token at which the running sum of float64 exceeds u."""
    probs = maths.to_probs(random_logits(500, 60, dtype=dtype), SamplingParams(top_k=20))
    u = torch.rand(500, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for row, coin, drawn in zip(probs.double().numpy(), u.tolist(), maths.draw(probs, u).tolist()):
        running = np.cumsum(row)
        assert drawn == next(i for i, mass in enumerate(running) if mass > coin * running[-1])


def test_a_draw_gives_each_token_its_share_of_the_coins() -> None:
    """A thousand evenly spaced coins on thousandths: an exact count each, whatever the order of the tokens."""
    row = torch.tensor([0.0, 0.25, 0.001, 0.0, 0.5, 0.249, 0.0], dtype=torch.float64)
    u = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    counts = maths.draw(row.expand(1000, -1), u).bincount(minlength=7)
    assert counts.tolist() == [0, 250, 1, 0, 500, 249, 0]


@pytest.mark.parametrize("u", [0.0, 5e-324, 2**-53, 0.5, LARGEST])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_has_no_chance_is_never_drawn(u: float, dtype: torch.dtype) -> None:
    """Zeros before, between and after; sums a little off 1; also one token alone, first or last."""
    rows = torch.tensor(
        [[0, 0.3, 0, 0.7, 0], [0, 0.1, 0, 0.9 - 1e-7, 0], [0, 0.1, 0, 0.9 + 1e-7, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]],
        dtype=dtype,
    )
    drawn = maths.draw(rows, torch.full((5,), u, dtype=torch.float64))
    assert (rows.gather(1, drawn[:, None]) > 0).all()
    assert drawn[3:].tolist() == [0, 4]


@pytest.mark.parametrize("u", [0.0, 0.5, 1 - 2**-24])
def test_what_has_no_chance_is_never_drawn_by_sums_of_float32(u: float, monkeypatch) -> None:
    """As on Metal, whose coins are of float32, too; totals on and beside powers of two, and far from 1."""
    monkeypatch.setattr(maths, "_widest", lambda device: torch.float32)
    totals = [1, 1 - 2**-24, 1 + 2**-23, *torch.rand(500, generator=torch.Generator().manual_seed(4)).tolist(), 1e-30]
    rows = torch.tensor([[0, total / 2, total / 2, 0] for total in totals])
    assert (maths.draw(rows, torch.full((len(rows),), u)) == (2 if u >= 0.5 else 1)).all()


def test_rare_tokens_at_the_end_of_a_long_row_have_their_share() -> None:
    """A thousand tokens of 1e-9 after one of nearly everything: sums of float32 would lose most of them."""
    row = torch.full((1001,), 1e-9)
    row[0] = 1 - 1e-6
    cdf = row.double().cumsum(0)
    middles = (cdf[1:] + cdf[:-1]) / 2 / cdf[-1]
    assert maths.draw(row.expand(1000, -1), middles).tolist() == list(range(1, 1001))


@pytest.mark.parametrize("width", [16_384, 49_152, 50_257])
def test_a_draw_from_a_wide_row_is_the_inverse_cdf(width: int) -> None:
    """Masses in whole parts of 2^40, so that no sum is rounded, in whatever order: the token is the plain one's, for
    coins in the middle, at the borders of tokens, and beside them."""
    generator = torch.Generator().manual_seed(width)
    parts = torch.randint(1, 2**20, (width,), generator=generator) * (torch.rand(width, generator=generator) < 0.3)
    parts[:128], parts[-70:] = 0, 0
    parts[width // 2] += 2**40 - parts.sum()
    row = parts.double() / 2**40
    cdf = row.numpy().cumsum()
    borders = cdf[torch.randint(0, width, (200,), generator=generator).tolist()]
    middles = torch.rand(200, generator=generator, dtype=torch.float64).numpy()
    u = np.concatenate([borders, borders - 2**-45, middles, [0, LARGEST]]).clip(0, LARGEST)
    expected = [int(np.searchsorted(cdf, coin, side="right")) for coin in u]
    assert maths.draw(row.expand(len(u), -1), torch.tensor(u)).tolist() == expected
    assert (row[expected] > 0).all()


@pytest.mark.parametrize("u", [0.0, 2**-53, 0.5, LARGEST])
def test_what_has_no_chance_is_never_drawn_from_a_wide_row(u: float) -> None:
    """Float32 masses of a softmax, whose sums are rounded, with nothing but zeros around them."""
    probs = maths.to_probs(random_logits(50, 50_000, dtype=torch.float32), SamplingParams(top_k=2000))
    drawn = maths.draw(probs, torch.full((50,), u, dtype=torch.float64))
    assert (probs.gather(1, drawn[:, None]) > 0).all()


def test_rare_tokens_of_a_wide_row_have_their_share() -> None:
    """Thousands of 1e-9 after one of nearly everything: sums of float32 would lose them."""
    row = torch.full((16_391,), 1e-9)
    row[0] = 1 - 2e-5
    cdf = row.double().cumsum(0)
    tokens = torch.arange(1, len(row), 5)
    middles = (cdf[tokens] + cdf[tokens - 1]) / 2 / cdf[-1]
    assert torch.equal(maths.draw(row.expand(len(tokens), -1), middles), tokens)


def test_certain_among_many() -> None:
    """One id of 151,936 holds everything: no coin finds another."""
    row = torch.zeros(1, 151_936)
    row[0, 77_777] = 1
    u = torch.cat([coins(0, LARGEST), torch.linspace(0, 1, 99, dtype=torch.float64)[:-1]])
    assert (maths.draw(row.expand(100, -1), u) == 77_777).all()


def test_even_a_row_of_nan_draws_an_id_of_the_vocabulary() -> None:
    """The engine refuses such a row, but only after it has travelled through the device."""
    for width in (5, 50_257):
        assert 0 <= maths.draw(torch.full((1, width), torch.nan), coins(0.5)).item() < width


def test_a_row_is_worked_out_alike_alone_and_in_a_block() -> None:
    """100,000 rows of bfloat16: the draft's rows come one by one, the target's K + 1 at a time; the same coin must find
    the same token."""
    logits = random_logits(100_000, 32, dtype=torch.bfloat16)
    u = torch.rand(100_000, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    params = SamplingParams(temperature=0.8, top_k=12)
    block = maths.to_probs(logits, params)
    drawn = maths.draw(block, u)
    for rows in (1, 5, 1000):
        some = range(0, 100_000, rows)[:300]
        for i in some:
            probs = maths.to_probs(logits[i : i + rows], params)
            assert torch.equal(probs, block[i : i + rows])
            assert torch.equal(maths.draw(probs, u[i : i + rows]), drawn[i : i + rows])


# ---------------------------------------------------------------- verify, residual, last_law


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5])
def test_what_stays_is_a_prefix(k: int) -> None:
    """Every pattern of verdicts: the drafts after the first rejection count for nothing."""
    p, q = torch.full((k + 1, 2), 0.5), torch.tensor([[1.0, 0.0]]).expand(k, 2)
    for pattern in product([True, False], repeat=k):
        u = coins(*(0.25 if good else 0.75 for good in pattern))
        stay = maths.verify(torch.zeros(k, dtype=torch.int64), p, q, u)
        assert stay.item() == (*pattern, False).index(False)
        assert stay.dtype == torch.int64 and stay.dim() == 0


@pytest.mark.parametrize(
    ("p_x", "q_x", "u", "stays"),
    [
        (0.5, 0.5, LARGEST, True),  # p = q: always
        (0.0, 0.5, 0.0, False),  # p = 0: never, not even at u = 0
        (0.0, 0.0, 0.0, False),
        (1e-30, 1.0, 0.0, True),
        (0.25, 0.5, 0.5, False),  # u < p/q, strictly
        (0.25, 0.5, 0.5 - 2**-53, True),
        (0.9, 0.1, LARGEST, True),
        (2e-8, 5e-7, 0.0399, True),  # a ratio of .04, neither 0/0 nor 1
        (2e-8, 5e-7, 0.0401, False),
        (torch.nan, 0.5, 0.0, False),  # what is no number accepts nothing
        (0.5, torch.nan, 0.0, False),
        (torch.nan, 0.0, 0.0, False),
    ],
)
def test_one_verdict(p_x: float, q_x: float, u: float, stays: bool) -> None:
    p, q = torch.tensor([[p_x, 0], [0, 1]]), torch.tensor([[q_x, 0]])
    assert maths.verify(torch.tensor([0]), p, q, coins(u)).item() == stays


def test_low_precision_logits_accept_nothing_impossible() -> None:
    """In bfloat16 coins one in some hundreds would be 0 or 1; ours are float64 and p is exactly 0."""
    p = maths.to_probs(torch.tensor([[0.0, -torch.inf], [0, 0]], dtype=torch.bfloat16), SamplingParams())
    q = maths.to_probs(torch.tensor([[0.0, 0.0]], dtype=torch.bfloat16), SamplingParams())
    assert maths.verify(torch.tensor([1]), p, q, coins(0.0)).item() == 0


def test_residual_by_hand() -> None:
    p, q = torch.tensor([[0.5, 0.1, 0.1, 0.3]]), torch.tensor([[0.2, 0.4, 0.3, 0.1]])
    assert maths.common(p, q).sum().item() == pytest.approx(0.5)
    assert maths.residual(p, q)[0].tolist() == pytest.approx([0.6, 0, 0, 0.4])


def test_nothing_left_of_equal_rows() -> None:
    p = random_logits(3, 9).softmax(-1)
    assert torch.equal(maths.residual(p, p), p)


def test_residual_of_two_softmax_routines() -> None:
    """p and q that should be equal and are not, by some 1e-7: what rounding left over is still a law on tokens with
    p > 0, and a coin draws one of them."""
    logits = random_logits(50, 1000, dtype=torch.float32)
    p, q = logits.softmax(-1), (logits - logits.logsumexp(-1, keepdim=True)).exp()
    assert not torch.equal(p, q)
    left = maths.residual(p, q)
    assert left.isfinite().all() and left.sum(-1).tolist() == pytest.approx([1] * 50, abs=1e-5)
    assert ((left > 0) <= (p > 0)).all()
    drawn = maths.draw(left, torch.rand(50, generator=torch.Generator().manual_seed(3), dtype=torch.float64))
    assert (p.gather(1, drawn[:, None]) > 0).all()


def below(q: torch.Tensor) -> torch.Tensor:
    """As a round has it: a row of nothing below q's."""
    return Narrow.of(q).rows


@pytest.mark.parametrize("stay", [0, 1, 2, 3])
def test_the_last_law_is_that_of_its_position(stay: int) -> None:
    p, q = random_logits(4, 5, seed=1).softmax(-1), random_logits(3, 5, seed=2).softmax(-1)
    expected = p[3] if stay == 3 else (p[stay] - q[stay]).clamp(min=0) / (p[stay] - q[stay]).clamp(min=0).sum()
    law = maths.last_law(torch.tensor(stay), p, maths.common(p, below(q)))[0]
    assert torch.allclose(law / law.sum(), expected, rtol=1e-14)
    if stay < 3:
        assert torch.allclose(maths.residual(p[:3], q)[stay], expected, rtol=1e-14)


def test_no_draft_leaves_p_alone() -> None:
    p = random_logits(1, 5).softmax(-1)
    assert torch.equal(maths.last_law(torch.tensor(0), p, maths.common(p, below(p[:0]))), p)


@pytest.mark.parametrize("support", [None, [1, 4, 6]])
def test_p_stands_in_where_nothing_is_left(support: list[int] | None) -> None:
    """After a rejection where q has all of p, as after the last draft: the coin draws from p."""
    p = torch.zeros(2, 9, dtype=torch.float64)
    p[0, [1, 4, 6]], p[1, [0, 8]] = torch.tensor([0.25, 0.5, 0.25]).double(), torch.tensor([0.5, 0.5]).double()
    ids = None if support is None else torch.tensor(support)
    shared = maths.common(p if ids is None else p[:, ids], below(p[:1] if ids is None else p[:1, ids]))
    for stay, u, token in [(0, 0.2, 1), (0, 0.3, 4), (0, 0.8, 6), (1, 0.2, 0), (1, 0.6, 8)]:
        assert maths.last_token(torch.tensor(stay), p, shared, coins(u), ids).tolist() == [token]


def test_rows_of_different_width() -> None:
    p, q = torch.tensor([[0.5, 0.5]]), torch.tensor([[0.25, 0.25, 0.5]])
    wide_p, wide_q = maths.same_width(p, q)
    assert wide_p.tolist() == [[0.5, 0.5, 0]] and torch.equal(wide_q, q)
    assert [row.shape for row in maths.same_width(q, p)] == [(1, 3), (1, 3)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_temperatures_without_end(dtype):
    """Past all numbers a float32 can hold: as good as evenly over what is possible, and as good as greedy."""
    row = torch.tensor([[1e9, 3.0, -torch.inf, -1e9]], dtype=dtype)
    hot = maths.to_probs(row, SamplingParams(temperature=1.7e308))
    assert torch.allclose(hot.double(), torch.tensor([[1 / 3, 1 / 3, 0, 1 / 3]], dtype=torch.float64), atol=1e-6)
    cold = maths.to_probs(row, SamplingParams(temperature=1e-300))
    assert cold.tolist() == [[1, 0, 0, 0]]
