"""The loop over recorded steps: the same rounds as the engine's, though a recording knows only what stands in memory."""

from dataclasses import replace

import pytest
import torch
from fixed_models import FixedTable
from table_models import P, Q, historic
from tape import Tape, Waited, taped
from tiny import tiny_config, tiny_model

from specdemo import captured, engine
from specdemo.captured import Stage
from specdemo.contract import NumericalFault
from specdemo.drafters import ModelDrafter
from specdemo.graphs import as_it_is
from specdemo.models.fixed import FixedRun
from specdemo.models.llama import Llama
from specdemo.models.selfcheck import check_model
from specdemo.records import Outcome, SamplingParams
from specdemo.words import Refusal

CAPTURES = {"as it is": as_it_is, "taped": taped}

SAMPLING = {
    "plain": {},
    "greedy": {"temperature": 0.0},
    "filtered": {"temperature": 1.3, "top_k": 3, "top_p": 0.9, "min_p": 0.1},
}


def events(rounds):
    return [(round_.index, round_.k, round_.events) for round_ in rounds]


def ids(rounds):
    return [event.token_id for round_ in rounds for event in round_.emitted]


def by_the_engine(prompt, params, k, p=P, q=Q, context=None, **options):
    drafter = ModelDrafter(historic(q, context=context))
    return events(engine.speculate(historic(p), drafter, prompt, params, k=k, **options))


def staged(params, p=P, q=Q, context=None, capture=taped, **options):
    return Stage(FixedTable(p), FixedTable(q, context=context), params, capture=capture, **options)


class Chosen:
    """K from a list, over and over."""

    def __init__(self, *ks: int) -> None:
        self._ks = [ks[i % len(ks)] for i in range(200)]

    def __call__(self, last) -> int:
        return self._ks[0 if last is None else last.index + 1]


# ---------------------------------------------------------------- the same rounds, to the last bit


@pytest.mark.parametrize("capture", CAPTURES.values(), ids=CAPTURES)
@pytest.mark.parametrize("sampling", SAMPLING)
@pytest.mark.parametrize("k", [0, 1, 2, 4])
def test_the_rounds_are_the_engine_s(sampling, k, capture):
    outcomes = set()
    for seed in range(6):
        params = SamplingParams(**SAMPLING[sampling], seed=seed, max_new_tokens=24)
        stage = staged(params, capture=capture)
        rounds = list(captured.speculate(stage, [1, 0, 3], params, k=k))
        assert events(rounds) == by_the_engine([1, 0, 3], params, k)
        outcomes |= {event.outcome for round_ in rounds for event in round_.events}
    if k > 1 and sampling != "greedy":
        assert outcomes == set(Outcome) - {Outcome.PLAIN}


@pytest.mark.parametrize("prompt", [[2], [2, 1], [0] * 20], ids=len)
@pytest.mark.parametrize("ks", [(3, 0, 0, 0, 0, 1), (0, 0, 4), (1, 2, 3, 0), (0,)], ids=str)
def test_k_may_differ_from_round_to_round(ks, prompt):
    for seed in range(4):
        params = SamplingParams(seed=seed, max_new_tokens=30)
        rounds = captured.speculate(staged(params), prompt, params, k=Chosen(*ks))
        assert events(rounds) == by_the_engine(prompt, params, Chosen(*ks))


def test_between_two_rounds_with_drafts_the_host_has_nothing_to_read():
    """All that is new to the draft is among the tokens that its step reads again, whatever was accepted."""
    params, passes = SamplingParams(seed=4, max_new_tokens=40), []

    class Watched(FixedTable):
        def feed(self, ids):
            passes.append(ids.tolist())
            return super().feed(ids)

    rounds = captured.speculate(Stage(Watched(P), Watched(Q), params, capture=taped), [1, 2, 3], params, k=3)
    accepted = {sum(event.outcome is Outcome.ACCEPTED for event in round_.events) for round_ in rounds}
    assert accepted == {0, 1, 2, 3} and passes == [[1, 2], [1, 2]]  # the prompt, once each


def test_a_stage_serves_one_run_after_another():
    params = SamplingParams(seed=0, max_new_tokens=20)
    stage = staged(params)
    for seed, k, prompt in [(0, 3, [1, 2]), (1, 2, [3] * 9), (2, 4, [0]), (0, 3, [1, 2])]:
        params = replace(params, seed=seed)
        assert events(captured.speculate(stage, prompt, params, k=k)) == by_the_engine(prompt, params, k)


def test_a_run_that_was_left_leaves_no_trace():
    params = SamplingParams(seed=3, max_new_tokens=30)
    stage = staged(params)
    for _ in range(3):
        run = captured.speculate(stage, [1, 2, 0], params, k=4)
        next(run)
        next(run)
        run.close()
    assert events(captured.speculate(stage, [1, 2], params, k=3)) == by_the_engine([1, 2], params, 3)


@pytest.mark.parametrize("length", [1, 2, 4, 5, 6])
def test_the_length_is_exact(length):
    params = SamplingParams(seed=1, max_new_tokens=length)
    rounds = list(captured.speculate(staged(params), [1], params, k=4))
    assert len(ids(rounds)) == length and events(rounds) == by_the_engine([1], params, 4)


@pytest.mark.parametrize("stop", [0, 1, 2, 3])
def test_a_stop_token_ends_it_wherever_it_falls(stop):
    for seed in range(8):
        params = SamplingParams(seed=seed, max_new_tokens=30)
        rounds = captured.speculate(staged(params), [1], params, k=3, stop_ids={stop})
        assert events(rounds) == by_the_engine([1], params, 3, stop_ids={stop})


def test_a_draft_without_room_drafts_less_and_then_nothing():
    params = SamplingParams(seed=2, max_new_tokens=20)
    rounds = list(captured.speculate(staged(params, context=9), [1, 0], params, k=4))
    assert events(rounds) == by_the_engine([1, 0], params, 4, context=9)
    assert {round_.k for round_ in rounds} >= {0, 4}


def test_vocabularies_of_different_widths():
    """The target writes ids that the draft lacks, and the draft proposes some that the target lacks."""
    p, q = [[0.2, 0.2, 0.1, 0.2, 0.3], [0.1, 0.1, 0.1, 0.3, 0.4]], [[0.3, 0.3, 0.4]]
    params = SamplingParams(seed=5, max_new_tokens=30)
    for wide, narrow in ((p, q), (q, p)):
        rounds = captured.speculate(staged(params, wide, narrow), [1], params, k=3)
        assert events(rounds) == by_the_engine([1], params, 3, wide, narrow)


def test_the_target_alone():
    params = SamplingParams(seed=7, max_new_tokens=12)
    rounds = captured.decode(Stage(FixedTable(P), None, params, capture=taped), [1, 2], params)
    assert events(rounds) == events(engine.decode(historic(P), [1, 2], params))


def test_what_is_refused():
    params = SamplingParams(seed=1)
    stage = staged(params)
    for prompt, k in (([], 2), ([9], 2), ([1], -1), ([1], True)):
        with pytest.raises(Refusal):
            captured.speculate(stage, prompt, params, k=k)
    with pytest.raises(Refusal):
        list(captured.speculate(stage, [1], replace(params, max_new_tokens=9), k=lambda last: -1))
    with pytest.raises(AssertionError):  # other filters are another recording
        captured.speculate(stage, [1], replace(params, temperature=0.5), k=1)


@pytest.mark.parametrize("who", ["target", "draft"])
def test_logits_that_are_no_numbers_are_told_with_their_position(who):
    params, broken = SamplingParams(seed=1, max_new_tokens=8), [[float("nan")] * 4]
    stage = staged(params, **({"p": broken} if who == "target" else {"q": broken}))
    with pytest.raises(NumericalFault, match=f"The {who}'s logits at position 2"):
        list(captured.speculate(stage, [1, 0], params, k=2))


# ---------------------------------------------------------------- the tape itself


class Asking(FixedTable):
    def __init__(self, how):
        super().__init__(P)
        self._how = how

    def feed_at(self, ids, start):
        self._how(start)
        return super().feed_at(ids, start)


class Counting(FixedTable):
    """Takes the place from Python, as a model does that was not written for this."""

    def feed_at(self, ids, start):
        logits = super().feed_at(ids, torch.full((), self.length))
        self.length += len(ids)
        return logits


@pytest.mark.parametrize("how", [int, float, bool, torch.Tensor.tolist, torch.nonzero, lambda x: x if x > 3 else 0])
def test_a_step_that_asks_its_device_is_found_out(how):
    params = SamplingParams(seed=1, max_new_tokens=8)
    with pytest.raises(Waited):
        list(captured.speculate(Stage(Asking(how), FixedTable(Q), params, capture=taped), [1], params, k=2))


def test_a_step_that_knows_more_than_stands_in_memory_is_found_out():
    params = SamplingParams(seed=1, max_new_tokens=8)
    stage = Stage(Counting(P), FixedTable(Q), params, capture=taped)
    assert events(captured.speculate(stage, [1, 2, 0], params, k=2)) != by_the_engine([1, 2, 0], params, 2)


def test_what_a_step_keeps_from_one_time_to_the_next_is_spoilt():
    """Memory that a recording made itself, and read before it made it again, is nobody's: a graph may put others there."""
    kept = []

    def step():
        total.copy_(kept[-1] + given if kept else given)
        kept.append(given * 1)

    given, total = torch.zeros(2), torch.zeros(2)
    with Tape() as tape:
        step()
        step()
    given.fill_(1)
    tape.play()
    assert total.tolist() == [2, 2]
    with Tape() as late:
        step()
    late.play()
    assert total.tolist() == [2, 2]


# ---------------------------------------------------------------- our own forward in fixed memory


@pytest.fixture(scope="module")
def weights():
    return Llama(tiny_model(tiny_config(3), 1)), Llama(tiny_model(tiny_config(1), 2))


def test_the_same_logits_as_where_memory_grows(weights):
    line = torch.randint(250, (90,), generator=torch.Generator().manual_seed(3))
    fixed, growing = FixedRun(weights[0], 100), weights[0].open()
    for part in line.split([1, 1, 7, 1, 30, 2, 48]):
        torch.testing.assert_close(fixed.feed(part), growing.feed(part), atol=1e-5, rtol=1e-4)
    assert fixed.length == 90


def test_it_can_be_rolled_back(weights):
    check_model(lambda: FixedRun(weights[0], 64), torch.float32, "it")


@torch.inference_mode()
def test_places_beyond_and_below_count_for_nothing(weights):
    line = torch.arange(3, 23)
    run, other = FixedRun(weights[0], 40), FixedRun(weights[0], 40)
    run._kv.fill_(1e4)
    expected = other.feed(line)
    below = run.feed_at(torch.cat([torch.tensor([7, 9]), line]), torch.tensor(-2))
    torch.testing.assert_close(below[2:], expected, atol=1e-4, rtol=1e-4)
    # Two tokens in one place would leave it to a GPU's mood which of them stays.
    assert (run._kv[..., -1, :] != 1e4).all() and (run._kv[..., 20:-1, :] == 1e4).all()
    torch.testing.assert_close(run.feed_at(line[-3:], torch.tensor(17)), expected[-3:], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("sampling", SAMPLING)
def test_a_pair_writes_the_same(weights, sampling):
    """Ids, verdicts and coins are the same; p and q up to float32, since the draft reads two tokens where one is new."""
    for seed, k in ((0, 1), (1, 3), (2, 4), (3, 0)):
        params = SamplingParams(**SAMPLING[sampling], seed=seed, max_new_tokens=40)
        target, draft = weights
        rounds = list(engine.speculate(target.open(), ModelDrafter(draft.open()), [5, 6, 7], params, k=k))
        stage = Stage(FixedRun(target, 64), FixedRun(draft, 64), params, capture=taped)
        again = list(captured.speculate(stage, [5, 6, 7], params, k=k))
        assert [ids([r]) for r in again] == [ids([r]) for r in rounds]
        for one, other in zip([e for r in again for e in r.events], [e for r in rounds for e in r.events]):
            assert (one.token_id, one.outcome, one.u) == (other.token_id, other.outcome, other.u)
            assert one.p == pytest.approx(other.p, abs=1e-5) and one.q == pytest.approx(other.q, abs=1e-5)
            assert one.alpha == pytest.approx(other.alpha, abs=1e-5)
