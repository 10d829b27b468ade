"""The check passes a right engine and fails every wrong one: the faults are planted in the maths of the engine."""

from collections.abc import Callable

import pytest
import torch
from table_models import TableModel, constant, logits_of, markov

from specdemo import maths
from specdemo.check import FALSE_ALARM, Check, Verdict
from specdemo.check.lane import Lane
from specdemo.check.sampled import Texts, comparisons, write
from specdemo.contract import NumericalFault
from specdemo.drafters import model as model_drafter
from specdemo.engine import speculate
from specdemo.memo import Memo
from specdemo.narrow import Narrow
from specdemo.records import SamplingParams

P = [[0.5, 0.1, 0.1, 0.3], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.4, 0.1], [0.05, 0.6, 0.05, 0.3]]
Q = [[0.2, 0.4, 0.3, 0.1], [0.7, 0.1, 0.1, 0.1], [0.3, 0.2, 0.2, 0.3], [0.4, 0.1, 0.3, 0.2]]


def finished(check: Check) -> Verdict:
    for _ in check.steps():
        pass
    return check.verdict()


def checked(**changes):
    arguments = {"params": SamplingParams(seed=1), "k": 2, "samples": 500, "prompt_ids": [2, 0]} | changes
    return finished(Check(markov(P), markov(Q), arguments.pop("prompt_ids"), arguments.pop("params"), **arguments))


def test_a_right_engine_passes() -> None:
    """A false alarm has odds of 3 in a million a seed, 1 in 80,000 for all four."""
    for seed in range(4):
        verdict = checked(params=SamplingParams(seed=seed), samples=300)
        assert verdict.lossless and len(verdict.comparisons) == 3
        assert verdict.exact.error < 1e-12 and verdict.exact.miscast == 0 and verdict.exact.positions > 20
    assert verdict.alpha == pytest.approx(0.5)  # Σ min of the first rows
    assert verdict.kept == pytest.approx(0.5, abs=0.15)  # 5 standard errors


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=0),
        SamplingParams(temperature=0.5, top_k=2, seed=3),
        SamplingParams(temperature=1.5, top_p=0.8, seed=3),
        SamplingParams(min_p=0.5, seed=3),
    ],
    ids=["greedy", "top-k", "top-p", "min-p"],
)
@pytest.mark.parametrize("k", [1, 4])
def test_filters_and_greedy_pass(params: SamplingParams, k: int) -> None:
    assert checked(params=params, k=k, samples=150).lossless


def always_accept(ids, p, q, u):
    return torch.tensor(len(ids))


def threshold(ids, p, q, u):
    """Keep x when the target gives it at least half of what the draft does: no coin."""
    at = torch.arange(len(ids))
    return (p[at, ids] >= 0.5 * q[at, ids]).cumprod(0).sum()


def swapped(ids, p, q, u, right=maths.verify):
    return right(ids, q, p, u)


def resample_from_p(accepted, p, *_):
    return p[accepted][None]


def absolute_difference(p, q):
    """|p − q| is what p less this leaves."""
    return p - (p - q).abs()


def softmax_of_residual(*args, right=maths.last_law):
    return right(*args).softmax(-1)


def bonus_from_the_row_before(accepted, p, *shared, right=maths.last_law):
    return p[accepted - 1][None] if 0 < accepted == len(p) - 1 else right(accepted, p, *shared)


def first_row_always(accepted, p, *shared, right=maths.last_law):
    return right(accepted * 0, p, *shared)


def nothing_shared(p, q, right=maths.common):
    return 0 * right(p, q)


def wrong_draw(probs, uniforms):
    return probs.argmax(-1)


FAULTS = [
    (maths, "verify", always_accept, "exact"),
    (maths, "verify", threshold, "exact"),
    (maths, "verify", swapped, "exact"),
    (maths, "last_law", resample_from_p, "exact"),
    (maths, "last_law", softmax_of_residual, "exact"),
    (maths, "common", absolute_difference, "exact"),
    (maths, "common", nothing_shared, "exact"),
    (maths, "last_law", bonus_from_the_row_before, "sampled"),
    (maths, "last_law", first_row_always, "sampled"),
    (maths, "_found", wrong_draw, "sampled"),
    (model_drafter, "draw", wrong_draw, "sampled"),  # an argmax draft that declares a dense q
]


@pytest.mark.parametrize(
    ("module", "name", "fault", "seen_by"), FAULTS, ids=[f"{f[1]}: {f[2].__name__}" for f in FAULTS]
)
def test_a_planted_fault_fails(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, fault: Callable, seen_by: str
) -> None:
    monkeypatch.setattr(module, name, fault)
    verdict = checked(samples=1000)
    assert not verdict.lossless
    assert verdict.exact.holds == (seen_by == "sampled")
    assert (
        min(one.engine.p_value for one in verdict.comparisons) < FALSE_ALARM
    )  # the sampled part sees every one of them


def test_what_is_known_grows_step_by_step() -> None:
    check = Check(markov(P), markov(Q), [2, 0], SamplingParams(seed=1), k=2, samples=120)
    seen = [check.verdict() for _ in check.steps()]
    assert [verdict.runs for verdict in seen if verdict.runs] == [*range(1, 121)]
    positions = [verdict.exact.positions for verdict in seen]
    assert positions == sorted(positions) and positions[0] == 0 < positions[-1] == seen[-1].exact.positions
    for verdict in seen:
        assert [one.length for one in verdict.comparisons] == (
            [1, 2, 3] if verdict.runs == 120 else [1][: verdict.runs]
        )
        for one in verdict.comparisons:
            assert one.engine.n == verdict.runs


def test_the_cells_are_the_likeliest_beginnings_with_their_counts() -> None:
    """The target alone is counted as well, as far as it wrote: it may not differ from its own law."""
    verdict = checked(samples=400)
    first, second, third = verdict.comparisons
    assert {cell.ids: cell.p for cell in first.cells} == pytest.approx({(0,): 0.5, (3,): 0.3, (1,): 0.1, (2,): 0.1})
    assert [cell.ids for cell in first.cells][:2] == [(0,), (3,)]
    assert sum(cell.engine for cell in first.cells) == sum(cell.alone for cell in first.cells) == 400
    pairs = {cell.ids: cell.p for cell in second.cells}
    assert (
        len(pairs) == 10 and pairs[0, 0] == pytest.approx(0.5 * P[0][0]) and pairs[3, 1] == pytest.approx(0.3 * P[3][1])
    )
    assert second.alone.n == 400 and third.alone is None and all(cell.alone == 0 for cell in third.cells)
    for one in (first, second):
        assert one.alone.p_value > 1e-6


def test_wrong_rules_stand_beside_the_engine() -> None:
    """Of P[0] and Q[0]: the threshold loses two tokens of .1 each, always accepting gives q, half of it in vain."""
    check = Check(markov(P), markov(Q), [2, 0], SamplingParams(seed=3), k=1, samples=20_000)
    steps = check.steps()
    while not (found := check.verdict().contrasts):
        next(steps)
    off = {one.rule: one.distance for one in found}
    assert off["threshold"] == pytest.approx(0.2) and off["always"] == pytest.approx(0.5)
    assert len(off) == 7 and all(distance > 1e-3 for distance in off.values())
    for one in found:
        assert sorted(one.ids) == [0, 1, 2, 3] and sum(one.counts) == 20_000 == one.fit.n
        assert one.fit.p_value < FALSE_ALARM, one.rule


def test_where_tokens_are_many_the_others_are_one_to_a_wrong_rule() -> None:
    p, q = torch.arange(1.0, 41), torch.ones(40)
    check = Check(
        constant((p / p.sum()).tolist()), constant((q / q.sum()).tolist()), [0], SamplingParams(), k=1, samples=10
    )
    steps = check.steps()
    while not (found := check.verdict().contrasts):
        next(steps)
    assert found[0].ids == tuple(range(39, 29, -1)) and len(found[0].p) == 11
    assert found[0].p[-1] == pytest.approx(sum(range(1, 31)) / sum(range(1, 41)))


def test_p_values_of_a_right_engine_are_uniform() -> None:
    """Kolmogorov's distance of 40 p-values from the uniform law is above .43 in one of 10^6 such tests.

    The χ² of so few cells takes a few hundred values only, which is far finer than that distance.
    """

    def p_value(seed: int) -> float:
        lane = Lane(Memo(markov(P), [2, 0]), Memo(markov(Q), [2, 0]), SamplingParams(seed=seed), 1)
        texts = Texts()
        for _ in write(lane, 60, texts):
            pass
        return next(comparisons(texts, lane)).engine.p_value

    values = sorted(map(p_value, range(40)))
    distance = max(max((i + 1) / 40 - x, x - i / 40) for i, x in enumerate(values))
    assert distance < 0.43


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": 0}, "k is 0; it must be a whole number, at least 1"),
        ({"samples": 0}, "samples is 0"),
        ({"samples": 2.5}, "samples is 2.5"),
        ({"prompt_ids": []}, "The prompt has 0 tokens"),
        ({"prompt_ids": [0, 4]}, "Prompt id 4 is not in both vocabularies, 0 to 3"),
    ],
)
def test_what_is_out_of_range_is_refused(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        checked(**changes)


def test_a_prompt_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="The prompt has 10 tokens and leaves no room for 35 more"):
        Check(markov(P, context=40), markov(Q), [0] * 10, SamplingParams())


def test_rows_that_are_no_distribution_are_named() -> None:
    nan = TableModel(lambda ids: [float("nan")] * 4, 4)
    with pytest.raises(NumericalFault):
        finished(Check(nan, markov(Q), [0], SamplingParams()))


def test_vocabularies_of_different_width_pass() -> None:
    wide = markov([[*row, 0.0] for row in Q] + [[0.25, 0.25, 0.25, 0.25, 0.0]])
    assert finished(Check(markov(P), wide, [1], SamplingParams(seed=4), samples=150)).lossless
    narrow = markov([row[:3] for row in Q[:3]])
    assert finished(Check(markov(P), narrow, [1], SamplingParams(seed=4), samples=150)).lossless


# ---------------------------------------------------------------- the memo


def test_a_memo_gives_the_models_rows_and_asks_once() -> None:
    """Its rows are the bare model's, whatever was asked before; a row that is asked for twice costs one pass."""
    law = {}

    def rule(ids: list[int]) -> torch.Tensor:
        return law.setdefault(tuple(ids), torch.tensor([len(law), 1.0, 2.0]))

    model = TableModel(rule, 3)
    memo = Memo(model, [0, 1, 2])
    memo.prefill(torch.tensor([0, 1]))
    block = memo.feed(torch.tensor([2, 0, 1]))
    assert torch.equal(block, torch.stack([law[0, 1, 2], law[0, 1, 2, 0], law[0, 1, 2, 0, 1]]).double())
    passes = len(model.passes)
    memo.rewind(3)
    assert memo.length == 3
    assert torch.equal(memo.feed(torch.tensor([0, 1, 1]))[:2], block[1:])
    assert len(model.passes) == passes + 1
    assert model.passes[0] == (0, [0, 1]) and all(before == 2 for before, _ in model.passes[1:])


def test_a_memo_forgets_and_finds_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specdemo.memo._MOST_BYTES", 0)
    row = logits_of([0.5, 0.5])
    memo = Memo(TableModel(lambda ids: row + len(ids), 2), [0])
    for _ in range(100):
        memo.feed(torch.zeros(1, dtype=torch.int64))
    assert len([*memo.known()]) == 64
    assert torch.equal(memo.row([0, 0]), row + 2)


def test_a_draft_of_few_tokens_is_checked_as_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its rows are remembered over those tokens alone, its runs take the way of any run, and its law is still told."""
    few = [row[:1] + [0.0] + row[2:] for row in Q]
    draft, proposals, propose = markov(few), [], model_drafter.ModelDrafter.propose
    draft.support = torch.tensor([0, 2, 3])
    draft.feed_narrow = lambda ids: draft.feed(ids)[:, draft.support]

    def spy(*args):
        proposals.append(propose(*args))
        return proposals[-1]

    monkeypatch.setattr(model_drafter.ModelDrafter, "propose", spy)
    assert finished(Check(markov(P), draft, [2, 0], SamplingParams(seed=5), samples=300)).lossless
    assert {type(q) for _, q in proposals} == {Narrow} and {q.rows.shape[1] for _, q in proposals} == {3}
    memo, row = Memo(draft, [2, 0]), markov(few).feed(torch.tensor([0]))
    memo.prefill(torch.tensor([2]))
    assert torch.equal(memo.feed(torch.tensor([0])), row) and torch.equal(memo.row([2, 0])[None], row)
    assert [kept.tolist() for _, kept in memo.known()] == row.tolist()


def test_a_draft_that_reads_its_target_is_checked_as_it_runs() -> None:
    """A draft whose rows depend on how much its target has read: the run through memos is the run without them."""

    def bare() -> tuple[TableModel, TableModel]:
        target = markov(P)
        return target, TableModel(lambda ids: logits_of(Q[(ids[-1] + len(ids) - target.length) % 4]), 4)

    def run(target: object, draft: object) -> list:
        rounds = speculate(target, model_drafter.ModelDrafter(draft), [2, 0], SamplingParams(seed=5), k=3)
        return [round_.events for round_ in rounds]

    target, draft = bare()
    p_rows = Memo(target, [2, 0])
    assert run(p_rows, Memo(draft, [2, 0], beside=p_rows)) == run(*bare())
    assert finished(Check(*bare(), [2, 0], SamplingParams(seed=5), samples=300, reads_target=True)).lossless
