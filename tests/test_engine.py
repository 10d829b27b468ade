"""The loop: what a round emits and records, when a run ends, and what it asks of its models."""

from collections.abc import Collection, Sequence
from importlib import import_module

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from table_models import TableModel, constant, historic, script

from specdemo import maths
from specdemo.contract import Coins
from specdemo.drafters import ModelDrafter
from specdemo.engine import decode, speculate
from specdemo.metrics import measure
from specdemo.records import Outcome, Round, SamplingParams

A, R, D, S, B, P = (
    Outcome.ACCEPTED,
    Outcome.REJECTED,
    Outcome.DISCARDED,
    Outcome.RESAMPLED,
    Outcome.BONUS,
    Outcome.PLAIN,
)
GREEDY = SamplingParams(temperature=0, max_new_tokens=8)


def greedy(length: int) -> SamplingParams:
    return SamplingParams(temperature=0, max_new_tokens=length)


def story(rounds: Sequence[Round]) -> list[list[tuple[int, Outcome]]]:
    return [[(event.token_id, event.outcome) for event in round_.events] for round_ in rounds]


def text(rounds: Sequence[Round]) -> list[int]:
    return [event.token_id for round_ in rounds for event in round_.emitted]


def scripted(target: Sequence[int], draft: Sequence[int], k: int, length: int, **kwargs) -> list[Round]:
    """A greedy run after the prompt [0]; target and draft are certain of the tokens at positions 1, 2, …"""
    models = script([0, *target]), ModelDrafter(script([0, *draft]))
    return list(speculate(*models, [0], greedy(length), k=k, **kwargs))


# ---------------------------------------------------------------- rounds by script


def test_a_rejection_in_the_middle() -> None:
    rounds = scripted([1, 2, 9, 9], [1, 2, 3, 3], k=3, length=4)
    assert story(rounds)[0] == [(1, A), (2, A), (3, R), (9, S)]
    assert text(rounds) == [1, 2, 9, 9]


def test_full_acceptance_earns_a_bonus() -> None:
    rounds = scripted([1, 2, 3, 4], [1, 2, 3, 9], k=3, length=4)
    assert story(rounds) == [[(1, A), (2, A), (3, A), (4, B)]]


def test_what_follows_a_rejection_is_discarded_however_right_it_is() -> None:
    """The draft agrees at places 1, 3 and 4, but place 2 ends the round."""
    (first, *_) = scripted([1, 7, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6], k=4, length=6)
    assert story([first])[0] == [(1, A), (2, R), (3, D), (4, D), (7, S)]
    assert [event.u is None for event in first.events] == [False, False, True, True, True]
    assert measure([first]).acceptance == 0.5


def test_the_replacement_comes_from_the_place_of_the_rejection() -> None:
    """Certain of 7 there and of 9 where the bonus would be."""
    (first, *_) = scripted([1, 7, 3, 4, 9], [1, 2, 3, 4, 5], k=4, length=5)
    assert text([first]) == [1, 7]


def test_places_stay_right_in_later_rounds() -> None:
    """All, then the first, then the last, then a bonus again: four rounds, each at its own offset."""
    target = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    draft = [1, 2, 3, 0, 0, 6, 7, 0, 9, 10, 11, 0]
    rounds = scripted(target, draft, k=3, length=12)
    assert story(rounds) == [
        [(1, A), (2, A), (3, A), (4, B)],
        [(0, R), (6, D), (7, D), (5, S)],
        [(6, A), (7, A), (0, R), (8, S)],
        [(9, A), (10, A), (11, A), (12, B)],
    ]
    assert [round_.index for round_ in rounds] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("p", "q", "token"),
    [([0.4, 0.6], [0.9, 0.1], 1), ([0.5, 0.3, 0.2], [0.6, 0.1, 0.3], 0), ([0.3, 0.5, 0.2], [0.6, 0.2, 0.2], 1)],
)
def test_greedy_is_the_argmax_of_the_target_for_any_draft(p: list[float], q: list[float], token: int) -> None:
    for seed in range(20):
        params = SamplingParams(temperature=0, seed=seed, max_new_tokens=6)
        assert text(list(speculate(constant(p), ModelDrafter(constant(q)), [0], params, k=2))) == [token] * 6


def test_plain_decoding_is_the_same_loop() -> None:
    rounds = list(decode(script([0, 1, 2, 3]), [0], greedy(3)))
    assert story(rounds) == [[(1, P)], [(2, P)], [(3, P)]]
    assert all(round_.k == 0 and round_.events[0].q is None for round_ in rounds)


def test_no_drafts_is_plain_text_by_the_same_coins() -> None:
    """k = 0 throws the coins that `decode` throws."""
    params = SamplingParams(seed=5, max_new_tokens=20)
    table = [[0.3, 0.7], [0.6, 0.4]]
    alone = list(decode(historic(table), [0], params))
    together = list(speculate(historic(table), ModelDrafter(historic(table)), [0], params, k=0))
    assert text(alone) == text(together)
    assert {event.outcome for round_ in together for event in round_.events} == {B}


# ---------------------------------------------------------------- stops


@pytest.mark.parametrize(
    ("name", "target", "draft", "end"),
    [
        ("first", [9, 1, 2, 3], [9, 1, 2, 3], [(9, A), (1, D), (2, D)]),
        ("accepted", [1, 9, 2, 3], [1, 9, 2, 3], [(1, A), (9, A), (2, D)]),
        ("accepted, then rejected", [1, 9, 5, 3], [1, 9, 2, 3], [(1, A), (9, A), (2, D)]),
        ("accepted at the very end", [1, 2, 9, 3], [1, 2, 9, 3], [(1, A), (2, A), (9, A)]),
        ("resampled", [1, 9, 2, 3], [1, 5, 2, 3], [(1, A), (5, R), (2, D), (9, S)]),
        ("bonus", [1, 2, 3, 9], [1, 2, 3, 9], [(1, A), (2, A), (3, A), (9, B)]),
    ],
)
def test_a_stop_ends_the_text_wherever_it_falls(name: str, target: list, draft: list, end: list) -> None:
    rounds = scripted(target, draft, k=3, length=8, stop_ids={9, 11})
    assert story(rounds) == [end]
    assert text(rounds) == text(decode_of(target, stop_ids={9, 11}))
    assert all(event.u is None for event in rounds[0].events if event.outcome is D)


def decode_of(target: list[int], **kwargs) -> list[Round]:
    return list(decode(script([0, *target]), [0], greedy(8), **kwargs))


def test_any_of_several_stops_ends_a_later_round() -> None:
    rounds = scripted([1, 2, 3, 4, 11, 5, 9], [1, 2, 3, 4, 11, 5, 9], k=2, length=8, stop_ids=(9, 11))
    assert text(rounds) == [1, 2, 3, 4, 11]
    assert story(rounds)[1] == [(4, A), (11, A)]


def test_a_stop_that_is_only_drafted_ends_nothing() -> None:
    rounds = scripted([1, 2, 3], [1, 9, 9], k=2, length=3, stop_ids={9})
    assert text(rounds) == [1, 2, 3]


def test_a_stop_in_the_prompt_ends_nothing() -> None:
    rounds = list(speculate(script([9, 1, 2]), ModelDrafter(script([9, 1, 2])), [9], greedy(2), k=2, stop_ids={9}))
    assert text(rounds) == [1, 2]


def test_token_0_is_a_token_like_any_other() -> None:
    assert text(scripted([1, 0, 0, 2], [1, 0, 0, 2], k=2, length=4)) == [1, 0, 0, 2]
    assert text(scripted([1, 0, 0, 2], [1, 0, 0, 2], k=2, length=4, stop_ids={0})) == [1, 0]


# ---------------------------------------------------------------- the cap and the context


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("agree", [True, False])
def test_the_cap_is_exact(k: int, agree: bool) -> None:
    tokens = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
    for cap in sorted({0, 1, k - 1, k, k + 1, k + 2, 3 * k + 1}):
        rounds = scripted(tokens, tokens if agree else tokens[1:], k=k, length=cap)
        assert text(rounds) == tokens[:cap]
        left = cap
        for round_ in rounds:
            assert round_.k == min(k, left - 1), "a draft that could not be emitted is not made"
            left -= len(round_.emitted)


def test_the_target_s_context_ends_the_text() -> None:
    """The text may fill the context; no model is ever fed beyond its own (the table models see to that)."""
    tokens = list(range(1, 15))
    for context in range(4, 12):
        target, draft = script([0, *tokens], context=context), script([0, *tokens], context=context)
        rounds = list(speculate(target, ModelDrafter(draft), [0, 1, 2], greedy(100), k=3))
        assert text(rounds) == tokens[2 : context - 1]


@pytest.mark.parametrize("prompt", [1, 4, 5, 6, 9])
def test_a_full_draft_leaves_the_target_alone(prompt: int) -> None:
    """Up to its context of 6 the draft drafts; after that rounds are plain, also where the prompt alone fills it."""
    tokens = list(range(15))
    target, draft = script(tokens), script(tokens, context=6)
    rounds = list(speculate(target, ModelDrafter(draft), tokens[:prompt], greedy(15 - prompt), k=3))
    assert text(rounds) == tokens[prompt:]
    held = prompt
    for round_ in rounds:
        assert round_.k == max(0, min(3, 6 - held, 14 - held))
        held += len(round_.emitted)


# ---------------------------------------------------------------- the prompt and the clock


class Clocked(TableModel):
    """Every pass advances a clock by so many seconds a pass."""

    def __init__(self, tokens: Sequence[int], clock: list[float], seconds: float) -> None:
        inner = script(tokens)
        super().__init__(inner.rule, inner.vocab_size)
        self.clock, self.seconds = clock, seconds

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        self.clock[0] += self.seconds
        return super().feed(ids)


def test_a_round_s_time_is_that_of_its_own_work(monkeypatch) -> None:
    """A pass of the target takes 5 s, one of the draft 1 s, a reader between two rounds 1000 s."""
    clock = [0.0]
    monkeypatch.setattr("specdemo.clock.time.perf_counter", lambda: clock[0])
    target, draft = Clocked([0, 1, 2, 3, 4, 5, 6, 7], clock, 5), Clocked([0, 1, 2, 3, 4, 5, 6, 7], clock, 1)
    rounds = []
    for round_ in speculate(target, ModelDrafter(draft), [0, 1], greedy(6), k=2):
        clock[0] += 1000
        rounds.append(round_)
    assert [(r.prefill_s, r.draft_s, r.verify_s, r.other_s) for r in rounds] == [(6, 2, 5, 0), (0, 2, 5, 0)]
    (first, *_) = decode(target, [0, 1], greedy(6))
    assert (first.prefill_s, first.draft_s, first.verify_s, first.other_s) == (5, 0, 5, 0)


@pytest.mark.parametrize(
    ("slow", "judge_s", "look_s"),
    [("maths.verify", 3, 0), ("maths.common", 3, 0), ("engine.pack_block", 0, 3), ("engine.read_block", 0, 0)],
)
def test_what_takes_time_beside_the_models_is_other_time(monkeypatch, slow, judge_s, look_s) -> None:
    clock = [0.0]
    monkeypatch.setattr("specdemo.clock.time.perf_counter", lambda: clock[0])
    module, name = slow.split(".")
    module = import_module(f"specdemo.{module}")
    real = getattr(module, name)

    def slowly(*args: object) -> object:
        clock[0] += 3
        return real(*args)

    monkeypatch.setattr(module, name, slowly)
    rounds = list(speculate(script([0, 1]), ModelDrafter(script([0, 1])), [0], greedy(3), k=2))
    assert [(r.draft_s, r.verify_s, r.other_s) for r in rounds] == [(0, 0, 3)]
    assert [(r.judge_s, r.look_s) for r in rounds] == [(judge_s, look_s)]


def test_a_long_prompt_is_read_in_pieces_and_without_logits_where_that_is_possible() -> None:
    read = []

    class Reader(TableModel):
        def prefill(self, ids: torch.Tensor) -> None:
            read.append(len(ids))
            super().feed(ids)

    inner = script([0] * 1200 + [3, 1])
    target, draft = Reader(inner.rule, inner.vocab_size), script([0] * 1200 + [3, 2])
    rounds = list(speculate(target, ModelDrafter(draft), [0] * 1200, greedy(2), k=1))
    assert text(rounds) == [3, 1]
    assert read == [512, 512, 175]
    assert [len(ids) for _, ids in draft.passes[:4]] == [512, 512, 175, 1]


# ---------------------------------------------------------------- arguments

TWO_WORDS = constant([0.5, 0.5], context=8)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"prompt_ids": []}, ["prompt", "0 tokens", "at least 1"]),
        ({"prompt_ids": [0, 2]}, ["Prompt id 2", "0 to 1"]),
        ({"prompt_ids": [-1]}, ["Prompt id -1", "0 to 1"]),
        ({"prompt_ids": [0] * 8}, ["8 tokens", "at most 7"]),
        ({"k": -1}, ["k is -1", "at least 0"]),
        ({"k": 1.5}, ["k is 1.5", "whole number"]),
        ({"k": True}, ["k is True", "whole number"]),
        ({"k": None}, ["k is None", "whole number"]),
        ({"top": -1}, ["top is -1", "at least 0"]),
        ({"top": 2.5}, ["top is 2.5", "whole number"]),
    ],
)
def test_a_wrong_argument_is_named_with_its_value_and_range_at_the_call(wrong: dict, words: list[str]) -> None:
    arguments = {"prompt_ids": [0], "params": GREEDY, "k": 2} | wrong
    with pytest.raises(ValueError) as caught:
        speculate(TWO_WORDS, ModelDrafter(TWO_WORDS), **arguments)
    assert all(word in str(caught.value) for word in words), caught.value
    if "k" not in wrong:
        arguments.pop("k")
        with pytest.raises(ValueError) as caught:
            decode(TWO_WORDS, **arguments)
        assert all(word in str(caught.value) for word in words), caught.value


def test_k_may_be_any_whole_number() -> None:
    rounds = list(speculate(script([0]), ModelDrafter(script([0])), [0], greedy(6), k=np.int64(2)))
    assert [round_.k for round_ in rounds] == [2, 2] and type(rounds[0].k) is int


@pytest.mark.parametrize("factor", [0.0, 0.9, 1.01])
def test_a_q_that_is_no_distribution_is_refused(factor: float) -> None:
    class Scaled(ModelDrafter):
        def propose(self, *args):
            drafts, q = super().propose(*args)
            return drafts, q * factor

    with pytest.raises(ValueError, match=rf"q sums to {factor:.6g}\d* in row 0; each row must sum to 1"):
        list(speculate(TWO_WORDS, Scaled(constant([0.5, 0.5])), [0], GREEDY, k=2))


def test_a_wrong_k_of_a_later_round_is_named_too() -> None:
    rounds = speculate(
        script([0]), ModelDrafter(script([0])), [0], GREEDY, k=lambda before: 1 if before is None else -2
    )
    next(rounds)
    with pytest.raises(ValueError, match=r"k is -2.*at least 0"):
        next(rounds)


def test_k_may_differ_from_round_to_round() -> None:
    """A k that follows the round before: one more after full acceptance, none at first."""
    seen = []

    def k(before: Round | None) -> int:
        seen.append(before)
        return 0 if before is None else before.k + 1

    tokens = list(range(1, 15))
    rounds = list(speculate(script([0, *tokens]), ModelDrafter(script([0, *tokens])), [0], greedy(10), k=k))
    assert [round_.k for round_ in rounds] == [0, 1, 2, 3]
    assert seen == [None, *rounds[:-1]]
    assert text(rounds) == tokens[:10]


# ---------------------------------------------------------------- everything a round promises


def chains(rows: int, width: int, seed: int) -> torch.Tensor:
    """Random laws, a third of their entries 0."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(rows, width, generator=generator, dtype=torch.float64)
    weights *= torch.rand(rows, width, generator=generator) > 1 / 3
    weights[:, seed % width] += 0.1
    return weights / weights.sum(-1, keepdim=True)


PARAMS = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.0, 0.7, 1.0, 2.0]),
    top_k=st.sampled_from([0, 0, 2]),
    top_p=st.sampled_from([1.0, 1.0, 0.8]),
    min_p=st.sampled_from([0.0, 0.0, 0.2]),
    seed=st.integers(0, 2**32),
    max_new_tokens=st.integers(0, 14),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    params=PARAMS,
    tables=st.integers(0, 2**32),
    width=st.integers(2, 6),
    prompt=st.lists(st.integers(0, 1), min_size=1, max_size=4),
    k=st.integers(0, 5),
    stops=st.sets(st.integers(0, 5), max_size=1),
    top=st.integers(0, 8),
    same=st.booleans(),
)
def test_every_round_keeps_its_promises(params, tables, width, prompt, k, stops, top, same) -> None:
    """Laws that depend on every token before, so that a cache or a place that is wrong anywhere shows in p or in q."""
    p_table = chains(7, width, tables)
    q_table = p_table if same else chains(7, width, tables + 1)
    target, draft = historic(p_table), historic(q_table)
    p_of, q_of = historic(p_table).rule, historic(q_table).rule
    committed = list(prompt)
    rounds = []
    for round_ in speculate(target, ModelDrafter(draft), prompt, params, k=k, stop_ids=stops, top=top):
        drafts = [event.token_id for event in round_.events[: round_.k]]
        left = params.max_new_tokens - (len(committed) - len(prompt))
        assert round_.k == len(drafts) == min(k, left - 1)
        check_order(round_, stops)
        for i, event in enumerate(round_.events):
            place = min(i, len(round_.emitted) - 1) if event.outcome in (S, B) else i
            before = [*committed, *drafts[:place]]
            p, q = (maths.to_probs(rule(before)[None], params)[0] for rule in (p_of, q_of))
            check_event(event, p, q, top)
        # Both caches hold what was committed and drafted; the last draft was never fed to its own model.
        assert target.ids == [*committed, *drafts]
        assert round_.k == 0 or draft.ids == [*committed, *drafts[:-1]]
        assert target.passes[-1] == (len(committed) - 1, [committed[-1], *drafts])
        check_draft_passes(draft, committed, drafts, 2 if rounds and rounds[-1].events[-1].outcome is B else 1)
        committed += [event.token_id for event in round_.emitted]
        rounds.append(round_)
    check_run(rounds, params, stops)
    assert len(target.passes) - len(rounds) == (len(prompt) > 1 and bool(rounds)), (
        "one pass a round, one for the prompt"
    )


def check_draft_passes(draft: TableModel, committed: list[int], drafts: list[int], unread: int) -> None:
    """Nothing is read twice: first what is new since the last draft, which after a bonus is its last draft too, then
    each draft but the last."""
    held = len(committed)
    singles = [(held + i, [x]) for i, x in enumerate(drafts[:-1])]
    expected = [(held - unread, committed[-unread:]), *singles] if drafts else []
    assert draft.passes[len(draft.passes) - len(expected) :] == expected


def check_order(round_: Round, stops: Collection[int]) -> None:
    """Accepted ones, perhaps a rejected one, discarded ones; then a last token unless an accepted stop ended it all."""
    *drafts, last = [event.outcome for event in round_.events]
    ended = last in (A, D)
    drafts += [last] if ended else []
    stay = drafts.count(A)
    assert drafts == [A] * stay + [R] * drafts.count(R) + [D] * drafts.count(D)
    assert drafts.count(R) == (not ended and stay < round_.k)
    assert ended or last == (B if stay == round_.k else S)
    assert ended == any(event.token_id in stops for event in round_.events if event.outcome is A)
    assert not any(event.token_id in stops for event in round_.emitted[:-1]), "nothing is emitted after a stop"


def check_event(event, p: torch.Tensor, q: torch.Tensor, top: int) -> None:
    """The numbers are those of its place, and they are enough to judge it again."""
    x, drafted = event.token_id, event.outcome is not B
    assert event.p == pytest.approx(p[x].item(), abs=1e-12)
    assert event.q == (pytest.approx(q[x].item(), abs=1e-12) if drafted else None)
    assert event.alpha == (pytest.approx(torch.minimum(p, q).sum().item(), abs=1e-12) if drafted else None)
    assert (event.u is not None) == (event.outcome in (A, R))
    if event.outcome in (A, R):
        assert 0 <= event.u < 1 and (event.u * event.q < event.p) == (event.outcome is A)
    if event.outcome in (A, R, D):
        assert event.q > 0, "drawn from its own q"
    else:
        assert event.p > (event.q or 0), "drawn from max(0, p − q)"
    ids = [row.token_id for row in event.top]
    assert len(set(ids)) == len(ids) and x in ids
    for row in event.top:
        assert row.p == pytest.approx(p[row.token_id].item(), abs=1e-12)
        assert row.q == (pytest.approx(q[row.token_id].item(), abs=1e-12) if drafted else None)
    heights = [max(row.p, row.q or 0) for row in event.top]
    assert heights == sorted(heights, reverse=True) and heights[-1] > 0
    for law in (p, q) if drafted else (p,):
        best = law.topk(min(top, len(law)))
        assert {int(i) for i, mass in zip(best.indices, best.values) if mass > best.values[-1]} <= set(ids)
    assert sum(row.p for row in event.top) + event.rest[0] == pytest.approx(1, abs=1e-12)
    if drafted:
        assert sum(row.q for row in event.top) + event.rest[1] == pytest.approx(1, abs=1e-12)
    else:
        assert event.rest[1] is None


def check_run(rounds: list[Round], params: SamplingParams, stops: Collection[int]) -> None:
    stats = measure(rounds)
    assert stats.drafted == stats.accepted + stats.rejected + stats.discarded
    assert stats.emitted == stats.accepted + stats.resampled + stats.bonus
    assert stats.resampled == stats.rejected
    cut_short = bool(rounds) and rounds[-1].events[-1].outcome in (A, D)
    assert stats.rounds == stats.resampled + stats.bonus + cut_short
    stopped = bool(text(rounds)) and text(rounds)[-1] in stops
    assert stats.emitted == params.max_new_tokens or (stopped and stats.emitted < params.max_new_tokens)


def test_stop_ids_may_come_in_any_form():
    for stops in ([2], (2,), {2}, iter([2]), (i for i in [2])):
        rounds = list(
            speculate(script([0, 1, 1, 2]), ModelDrafter(script([0, 1, 1, 2])), [0], greedy(9), k=1, stop_ids=stops)
        )
        assert [event.token_id for round_ in rounds for event in round_.emitted] == [1, 1, 2]


def test_a_prompt_of_fractions_is_refused():
    with pytest.raises(ValueError, match="whole numbers"):
        speculate(script([0]), ModelDrafter(script([0])), [0, 0.9], GREEDY, k=1)


# ---------------------------------------------------------------- coins


@pytest.mark.parametrize("throws", [[1, 3, 2], [200, 100, 5], [256, 1], [300, 700, 0, 4], [5] * 200], ids=len)
def test_coins_are_one_stream_however_they_are_thrown(throws: list[int]) -> None:
    """On a CPU that of the generator itself, so that a seed means what it meant when each throw asked for its own."""
    coins = Coins(7, torch.device("cpu"))
    thrown = torch.cat([coins.throw(n) for n in throws])
    assert torch.equal(thrown, torch.rand(sum(throws), generator=torch.Generator().manual_seed(7), dtype=torch.float64))
