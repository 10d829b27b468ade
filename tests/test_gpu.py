"""What can be seen on a GPU alone, and that the tool for one says so where there is none."""

import math

import pytest
import torch
from fixed_models import FixedTable
from table_models import P, Q
from test_sampled_law import ODDS, compare, law_after
from tiny import tiny_config, tiny_model
from torch.profiler import ProfilerActivity, profile
from transformers import LlamaConfig

from specdemo import captured, engine
from specdemo.captured import Stage
from specdemo.drafters import ModelDrafter
from specdemo.graphs import as_it_is, cuda_graph
from specdemo.models.fixed import FixedRun
from specdemo.models.llama import Llama
from specdemo.models.need import need_of
from specdemo.records import SamplingParams
from tools.gpu.__main__ import NO_GPU, main
from tools.gpu.report import report
from tools.gpu.rounds import WAITS, measured
from tools.gpu.shapes import PAIRS, Shape
from tools.gpu.synthetic import laws

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU here: python -m tools.gpu where there is one")

SAMPLING = [{}, {"temperature": 0.0}, {"temperature": 1.3, "top_k": 3, "top_p": 0.9, "min_p": 0.1}]


def tables(params, capture, device="cuda"):
    return Stage(FixedTable(P, device=device), FixedTable(Q, device=device), params, capture=capture)


def runs(weights, params, capture):
    target, draft = weights
    return Stage(FixedRun(target, 128), FixedRun(draft, 128), params, capture=capture)


def told(rounds):
    return [(round_.index, round_.k, round_.events) for round_ in rounds]


@pytest.fixture(scope="module")
def weights():
    return tuple(Llama(tiny_model(tiny_config(layers), layers).cuda()) for layers in (3, 1))


# ---------------------------------------------------------------- on a GPU


@gpu
@pytest.mark.parametrize("sampling", SAMPLING, ids=str)
@pytest.mark.parametrize("k", [0, 1, 4])
def test_graphs_do_what_the_steps_do(sampling, k):
    for seed in range(4):
        params = SamplingParams(**sampling, seed=seed, max_new_tokens=24)
        lanes = [captured.speculate(tables(params, how), [1, 0, 3], params, k=k) for how in (cuda_graph, as_it_is)]
        assert told(lanes[0]) == told(lanes[1])


@gpu
@pytest.mark.parametrize("sampling", SAMPLING, ids=str)
def test_graphs_over_our_own_forward_write_what_the_engine_writes(weights, sampling):
    for seed, k in ((0, 1), (1, 4), (2, 0)):
        params = SamplingParams(**sampling, seed=seed, max_new_tokens=60)
        target, draft = weights
        expected = list(engine.speculate(target.open(), ModelDrafter(draft.open()), [5, 6, 7], params, k=k))
        rounds = list(captured.speculate(runs(weights, params, cuda_graph), [5, 6, 7], params, k=k))
        for one, other in zip([e for r in rounds for e in r.events], [e for r in expected for e in r.events]):
            assert (one.token_id, one.outcome) == (other.token_id, other.outcome)
            assert one.p == pytest.approx(other.p, abs=1e-4)


@gpu
def test_runs_from_graphs_have_the_law_of_the_target():
    settings, counts = SamplingParams(max_new_tokens=4), {}
    stage = tables(settings, cuda_graph)
    law = law_after(lambda ids: stage.target._logits[key(ids) % len(P)].cpu(), [0], 4)
    for seed in range(2000):
        params = SamplingParams(seed=seed, max_new_tokens=4)
        text = tuple(e.token_id for r in captured.speculate(stage, [0], params, k=2) for e in r.emitted)
        counts[text] = counts.get(text, 0) + 1
    assert compare({text: counts.get(text, 0) for text in law}, law).p_value > ODDS


def key(ids):
    found = 0
    for token in ids:
        found = (31 * found + token + 1) % 1_000_003
    return found


@gpu
def test_a_round_is_two_launches_of_graphs_and_one_wait(weights):
    params = SamplingParams(seed=1, max_new_tokens=80)
    stage = runs(weights, params, cuda_graph)
    list(captured.speculate(stage, [5, 6, 7], params, k=3))
    rounds = captured.speculate(stage, [5, 6, 7], params, k=3)
    next(rounds)
    torch.cuda.set_sync_debug_mode("error")  # of the waits that an operation hides
    try:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as seen:
            for _ in range(5):
                next(rounds)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    names = [event.name for event in seen.events()]
    assert names.count("cudaGraphLaunch") == 10
    # The profiler itself waits for the device once, in its end.
    assert sum(names.count(name) for name in WAITS) <= 6


# ---------------------------------------------------------------- anywhere


def test_where_there_is_no_gpu_the_tool_says_so_in_one_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["--out", str(tmp_path / "gpu.md")]) == NO_GPU == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("There is no NVIDIA GPU") and not [*tmp_path.iterdir()]


def test_the_synthetic_laws_accept_with_the_probability_that_is_asked_for():
    target, draft = (law.softmax(-1) for law in laws(0.7, 1001, torch.float64, torch.device("cpu")))
    assert float(torch.minimum(target, draft).sum()) == pytest.approx(0.7)
    kept = target[:500] / draft[:500]
    assert float(kept.min()) == pytest.approx(0.7) == pytest.approx(float(kept.max()))


def test_the_report_of_a_tiny_pair_on_a_cpu():
    config = {"vocab_size": 320, "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4}
    big, small = (LlamaConfig(**config, num_hidden_layers=layers, num_key_value_heads=2) for layers in (3, 1))
    shape = Shape("tiny", big, small, acceptance=0.8, drafts=(3,), prompt=8, tokens=60)
    found = measured(shape, torch.device("cpu"))
    assert [(line.how, line.k) for line in found.lines] == [(how, k) for k in (0, 3) for how in ("eager", "recorded")]
    for line in found.lines:
        assert line.tokens_per_second > 0 and line.launches == line.waits == 0
        if line.k:  # of about forty judged drafts 0.8, give or take four standard errors
            assert abs(line.acceptance - 0.8) < 4 * math.sqrt(0.16 / 40)
            assert 1 < line.tokens_per_round <= 1 + line.k
        else:
            assert line.acceptance is None and line.tokens_per_round == 1
    text = report([found], torch.device("cpu"))
    assert "## tiny" in text and text.count("\n| ") == 5


def test_the_pairs_to_measure_have_their_real_sizes():
    """Parameters in millions, as their cards tell."""
    sizes = [need_of(config, torch.bfloat16).weights / 2e6 for shape in PAIRS for config in (shape.target, shape.draft)]
    assert sizes == pytest.approx([8191, 596, 1711, 134.5], rel=2e-3)
