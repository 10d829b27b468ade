"""Recorded rounds are relied on only where they say what the engine's say; else the engine goes on, with the reason."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from tape import taped
from tiny import tiny_config, tiny_model, tiny_pair

from specdemo import captured, trial
from specdemo.cli import main
from specdemo.lanes import plain, speculative
from specdemo.models.fixed import FixedRun
from specdemo.models.llama import Llama
from specdemo.records import Outcome, SamplingParams
from specdemo.trial import with_graphs

PARAMS = SamplingParams(seed=5, max_new_tokens=30)


@pytest.fixture
def pair():
    """A tiny pair on our own forward."""
    whole, own = tiny_pair(), [Llama(tiny_model(tiny_config(layers), seed)) for layers, seed in ((3, 1), (1, 2))]
    parts = (
        replace(weights, open=forward.open, open_fixed=partial(FixedRun, forward))
        for weights, forward in zip((whole.target, whole.draft), own)
    )
    return replace(whole, **dict(zip(("target", "draft"), parts)))


def told(rounds):
    return [(event.token_id, event.outcome) for round_ in rounds for event in round_.events]


@pytest.mark.parametrize("k", [0, 3, None])
def test_both_lanes_of_a_recorded_pair_write_what_they_wrote(pair, k):
    recorded = with_graphs(pair, taped)
    assert recorded.record is taped and str(recorded.notes[-1]).startswith("The steps of a round are recorded")
    for lane in (partial(speculative, k=k), plain):
        assert told(lane(recorded, [5, 6, 7], PARAMS)) == told(lane(pair, [5, 6, 7], PARAMS))
    assert {outcome for _, outcome in told(plain(recorded, [5, 6, 7], PARAMS))} == {Outcome.PLAIN}


def test_a_text_may_fill_the_target_s_context(pair):
    recorded, long = with_graphs(pair, taped), SamplingParams(seed=1, max_new_tokens=900)
    prompt = [3] * 500
    written = list(speculative(replace(recorded, stop_ids=frozenset()), prompt, long, 4))
    assert sum(len(round_.emitted) for round_ in written) == 12


def refused(pair, capture=taped) -> str:
    found = with_graphs(pair, capture)
    assert found.record is None and told(speculative(found, [5, 6], PARAMS, 3)) == told(speculative(pair, [5, 6], PARAMS, 3))
    return str(found.notes[-1])


def test_without_a_gpu_the_engine_goes_on(pair):
    assert "not recorded as CUDA graphs: the device is cpu" in refused(pair, None)


def test_what_does_not_run_on_our_own_forward_is_not_recorded():
    assert "tiny target does not run by itself on our own forward" in refused(tiny_pair())


def test_what_cannot_be_recorded_is_not(pair):
    def failing(step, kept):
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    assert "recording failed (operation not permitted when stream is capturing)" in refused(pair, failing)


def once(step, kept):
    """A recording that does something the first time only."""
    done = []

    def play():
        if not done:
            done.append(step())

    return play


def test_a_recording_that_stands_still_is_not_relied_on(pair):
    assert "they say something else here than the engine" in refused(pair, once)


def test_a_cache_that_is_never_written_is_not_relied_on(pair, monkeypatch):
    monkeypatch.setattr("specdemo.models.fixed._Slots.copy_", lambda slots, new: None)
    assert "they say something else here than the engine" in refused(pair)


def test_positions_that_are_off_by_one_are_not_relied_on(pair, monkeypatch):
    honest = captured.verify_step

    def off(target, standing, *rest):
        honest(target, standing, *rest)
        standing.newest.sub_(1)

    monkeypatch.setattr(captured, "verify_step", off)
    assert "they say something else here than the engine" in refused(pair)


def test_texts_that_part_at_a_near_tie_are_alike(pair):
    """The same laws, another coin: the trial compares what is said, not what is drawn."""
    (one, other) = (list(speculative(pair, [5, 6], replace(PARAMS, seed=seed), 3))[0].events for seed in (1, 2))
    assert [e.token_id for e in one] != [e.token_id for e in other]
    assert trial._alike(one, other, 1e-3)
    wrong = [replace(one[0], top=tuple(row._replace(p=row.p + 0.01) for row in one[0].top)), *one[1:]]
    assert not trial._alike(one, wrong, 1e-3)


def test_the_command_says_on_stderr_whether_they_are_recorded(pair, monkeypatch, capsys):
    monkeypatch.setattr("specdemo.cli.load.load_pair", lambda spec, **how: pair)
    assert main(["generate", "the end", "--seed", "3", "--max-new-tokens", "8", "--graphs"]) == 0
    out, err = capsys.readouterr()
    assert err == f"The steps of a round are not recorded as CUDA graphs: the device is {torch.device('cpu')}, " + (
        "and only NVIDIA's GPUs have them.\n"
    )
    assert "8 tokens" in out
