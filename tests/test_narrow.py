"""Rows of q over few ids against the same rows over all ids: what is judged, drawn and shown is the same."""

from dataclasses import astuple

import pytest
import torch

from specdemo import maths, steps
from specdemo.block import block_width, pack_block, read_block
from specdemo.drafters.model import drawn
from specdemo.narrow import Narrow
from specdemo.records import Outcome, SamplingParams, TokenEvent

SAMPLING = {
    "plain": SamplingParams(),
    "cold": SamplingParams(temperature=0.3),
    "greedy": SamplingParams(temperature=0),
    "filtered": SamplingParams(top_k=4, top_p=0.9),
}


def random_logits(rows: int, width: int, generator: torch.Generator) -> torch.Tensor:
    return 2 * torch.randn(rows, width, generator=generator, dtype=torch.float64)


class Setting:
    """K drafts from rows over a random support of a draft's ids, and what a target of as many ids or others says.

    narrow, whole  the same q; what both must lead to
    """

    def __init__(self, seed: int, k: int, draft_width: int, target_width: int, params: SamplingParams) -> None:
        g = torch.Generator().manual_seed(seed)
        h = int(torch.randint(1, draft_width + 1, (), generator=g))
        support = torch.randperm(draft_width, generator=g)[:h].sort().values
        uniforms, self.coins = (torch.rand(n, generator=g, dtype=torch.float64) for n in (k, k + 1))
        rows, self.logits, self.params = random_logits(k, h, g), random_logits(k + 1, target_width, g), params
        if seed % 3:  # a good draft
            rows = 0.3 * rows + torch.nn.functional.pad(self.logits[:k], (0, draft_width))[:, support]
        self.drafts, q = drawn(rows[:1], uniforms, params, lambda i, _: rows[i : i + 1], support)
        self.narrow = Narrow.of_rows(q, support, draft_width)
        self.whole = Narrow.of(torch.zeros(k, draft_width).double().index_copy_(1, support, torch.cat(q)))

    def verdict(self, q: Narrow) -> steps.Verdict:
        return steps.judged(self.logits, self.drafts, q, self.coins, self.params)

    def events(self, verdict: steps.Verdict, top: int) -> tuple[TokenEvent, ...]:
        block = pack_block(*verdict, self.drafts, self.coins, top)
        assert block.shape[1] == block_width(top, verdict.p.shape[1], verdict.q.rows.shape[1])
        return read_block(block, 0, Outcome.BONUS)


@pytest.mark.parametrize("widths", [(60, 60), (60, 70), (70, 60), (5, 5)], ids=str)
@pytest.mark.parametrize("sampling", SAMPLING)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_narrow_q_is_judged_and_shown_as_a_whole_one(k, sampling, widths) -> None:
    """To the last bit, but for α, whose terms are added in another order; where the vocabularies differ, too."""
    stays = set()
    for seed in range(40):
        setting = Setting(seed, k, *widths, SAMPLING[sampling])
        narrow, whole = setting.verdict(setting.narrow), setting.verdict(setting.whole)
        n = int(whole.accepted)
        stays.add(n)
        assert torch.equal(narrow.p, whole.p) and whole.p.shape[1] == max(widths)
        assert torch.equal(narrow.q.wide(), whole.q.wide())
        assert (int(narrow.accepted), int(narrow.last)) == (n, int(whole.last))
        torch.testing.assert_close(narrow.alpha, whole.alpha, atol=1e-15, rtol=1e-14)
        for stay in map(torch.tensor, range(k + 1)):
            assert torch.equal(*(last_law(stay, verdict) for verdict in (narrow, whole)))
        events = [setting.events(verdict, 12) for verdict in (narrow, whole)]
        for i, (here, there) in enumerate(zip(*events, strict=True)):
            assert astuple(here)[:5] == astuple(there)[:5]  # token, outcome, p, q, u
            assert here.alpha == pytest.approx(there.alpha, abs=1e-14)
            place = i if i < k else n
            check_candidates(here, whole.p[place], whole.q.rows[place] if place < k else None, 12)
    assert len(stays) > 1


def last_law(stay: torch.Tensor, verdict: steps.Verdict) -> torch.Tensor:
    p, q = verdict.p, verdict.q
    return maths.last_law(stay, p, maths.common(q.share_of(p), q.rows), q.support)


def check_candidates(event: TokenEvent, p: torch.Tensor, q: torch.Tensor | None, top: int) -> None:
    """Each has its own p and q; the likeliest of both are there; what is left over is the rest."""
    shown = [row.token_id for row in event.top]
    assert len(set(shown)) == len(shown) and event.token_id in shown
    for law, masses, rest in zip((p, q), zip(*[(row.p, row.q) for row in event.top]), event.rest):
        if law is None:
            assert rest is None and set(masses) == {None}
            continue
        assert list(masses) == law[shown].tolist() and rest == pytest.approx(max(0, 1 - sum(masses)), abs=1e-12)
        best = [mass for mass in law.topk(min(top, len(law))).values.tolist() if mass]
        assert sorted(masses, reverse=True)[: len(best)] == best


@pytest.mark.parametrize("support", [[0], [3], [1, 4, 6], [0, 1, 2, 3, 4, 5, 6], None], ids=str)
def test_the_parts_by_hand(support) -> None:
    ids = torch.arange(7) if support is None else torch.tensor(support)
    rows = torch.arange(1.0, 2 * len(ids) + 1).view(2, -1)
    q = Narrow.of_rows(rows.split(1), None if support is None else ids, 7)
    wide = torch.zeros(2, 7)
    wide[:, ids] = rows
    assert torch.equal(q.wide(), wide) and len(q) == 2
    assert torch.equal(q.ids(q.places(ids)), ids)
    assert torch.equal(q.at(torch.arange(7).repeat(3, 1)), torch.cat([wide, torch.zeros(1, 7)]))
    p = torch.rand(3, 7)
    assert torch.equal(q.share_of(p), p[:, ids])


def test_an_id_that_only_the_draft_has_is_refused() -> None:
    """Id 6 of the draft is beyond a target of five: p is 0 there, so no coin keeps it, and the residual is p's."""
    q = Narrow.of_rows([torch.tensor([[1.0]])], torch.tensor([6]), 7)
    logits = torch.tensor([[0.5, 0.5, 0, 0, 0], [1.0, 0, 0, 0, 0]]).log()
    coins = torch.tensor([0.0, 0.75], dtype=torch.float64)
    verdict = steps.judged(logits, torch.tensor([6]), q, coins, SamplingParams())
    assert verdict.p.shape == (2, 7) and verdict.alpha.tolist() == [0, 0]
    assert (int(verdict.accepted), int(verdict.last)) == (0, 1)


def test_a_drafter_may_give_rows_over_the_vocabulary() -> None:
    rows = torch.tensor([[0.25, 0.75]])
    assert torch.equal(Narrow.of(rows).wide(), rows) and Narrow.of(narrow := Narrow.of(rows)) is narrow
