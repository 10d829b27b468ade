"""The recipe of the embedded draft, on models of a few thousand weights."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from transformers import LlamaConfig, LlamaForCausalLM

from tools.draft.corpus import Corpus
from tools.draft.evaluate import evaluate, tokens_per_pass
from tools.draft.llama import Target, forward, load_target, logits_of, new_cache
from tools.draft.loss import Distil, sharpen
from tools.draft.prompts import held_out_prompts, leaks, training_prompts
from tools.draft.runner import Runner
from tools.draft.sample import Cohort, draw, sample, sample_cohort
from tools.draft.store import load_draft, save_draft
from tools.draft.student import Draft, Shape, new_draft
from tools.draft.table import Cost, plain_rate, predicted, round_rate
from tools.draft.teach import teach
from tools.draft.train import Recipe, train

VOCAB, TAPS = 96, (0, 1)
PROMPTS = [[5, 9, 2, 7, 31], [8, 8, 3, 40, 41, 42, 50], [11, 12, 13, 14], [60, 61, 62, 63, 64, 65]]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[LlamaForCausalLM, Path]:
    """A random Llama of the library, and its folder."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, tie_word_embeddings=True, initializer_range=0.3, bos_token_id=None,
        eos_token_id=None, pad_token_id=None,
    )  # fmt: skip
    model, folder = LlamaForCausalLM(config).eval(), tmp_path_factory.mktemp("target")
    config.save_pretrained(folder)
    weights = {name: weight.contiguous() for name, weight in model.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors")
    return model, folder


@pytest.fixture(scope="module")
def target(library: tuple[LlamaForCausalLM, Path]) -> Target:
    return load_target(library[1], torch.float32, positions=128)


def make_draft(target: Target, taps: int = len(TAPS), layers: int = 1) -> Draft:
    shape = Shape(layers, 32, 4, 2, 48, head_size=64, taps=taps, copied=(2,))
    sample_of_taps = torch.randn(50, len(TAPS), 32, generator=torch.Generator().manual_seed(5))
    return new_draft(shape, target, torch.arange(0, 64), seed=1, taps=sample_of_taps)


def continued(model: LlamaForCausalLM, prompt: list[int], count: int) -> list[int]:
    """Greedy text of the library's model, without its generate."""
    ids = list(prompt)
    for _ in range(count):
        ids.append(int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[len(prompt) :]


@torch.no_grad()
def test_forward_equals_the_library_in_one_pass_and_in_steps(library, target):
    ids = torch.randint(0, VOCAB, (3, 9), generator=torch.Generator().manual_seed(3))
    expected = library[0](ids, output_hidden_states=True)
    cache, start = new_cache(target, 3, 16), torch.zeros(3, dtype=torch.int64)
    stream, taps = forward(target, ids[:, :5], start, cache, slice(None), TAPS)
    torch.testing.assert_close(taps[:, :, 1], expected.hidden_states[2][:, :5], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(logits_of(target, stream), expected.logits[:, :5], rtol=1e-4, atol=1e-4)
    for position in range(5, 9):
        stream, _ = forward(target, ids[:, position : position + 1], start + position, cache, slice(None), ())
        torch.testing.assert_close(logits_of(target, stream)[:, 0], expected.logits[:, position], rtol=1e-4, atol=1e-4)


def test_draw_follows_the_uniform():
    logits = torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log().repeat(5, 1)
    uniforms = torch.tensor([0.0, 0.0999, 0.1001, 0.59, 0.999])
    assert draw(logits, torch.ones(5), uniforms).tolist() == [0, 0, 1, 2, 3]
    assert draw(logits, torch.zeros(5), uniforms).tolist() == [3] * 5


@pytest.fixture
def spoilt_memory():
    """New memory that nobody has written to is full of NaN."""
    torch.use_deterministic_algorithms(True)
    assert torch.empty(3).isnan().all()
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.usefixtures("spoilt_memory")
@torch.no_grad()
def test_sampled_answers_at_temperature_zero_are_greedy_and_end_at_a_stop_token(library, target):
    texts = [continued(library[0], prompt, 10) for prompt in PROMPTS]
    stop = texts[1][4]
    answers = sample_cohort(target, Cohort(PROMPTS, [0.0] * 4, max_new=10, seed=0), TAPS, {stop})
    for row, (prompt, text) in enumerate(zip(PROMPTS, texts, strict=True)):
        cut = text[: text.index(stop) + 1] if stop in text else text
        begin, end = int(answers.prompt_length[row]), int(answers.total_length[row])
        assert answers.tokens[row, begin:end].tolist() == cut
        # What was written down is what the library says at the same place.
        logp = library[0](torch.tensor([prompt + cut])).logits[0, begin].log_softmax(-1)
        if end > begin + 1:
            torch.testing.assert_close(
                logp[answers.top_ids[row, begin].long()], answers.top_logp[row, begin].float(), rtol=0, atol=2e-2
            )


@torch.no_grad()
@pytest.mark.parametrize("layers", [1, 2])
def test_a_round_computes_what_training_computes(target, layers):
    """Slot by slot with a cache, depth d of a round gives the stream of depth d in training."""
    draft = make_draft(target, layers=layers)
    tokens = torch.randint(0, VOCAB, (2, 12), generator=torch.Generator().manual_seed(4))
    cache, start = new_cache(target, 2, 12), torch.zeros(2, dtype=torch.int64)
    _, taps = forward(target, tokens, start, cache, slice(None), TAPS)
    trained = draft(tokens, taps, depths=3)
    runner = Runner(draft, 2, 12)
    known = draft.known(taps)
    before = torch.cat((torch.zeros_like(known[:, :1]), known[:, :-1]), 1)
    stream = runner.read(tokens[:, :6], before[:, :6], start)
    torch.testing.assert_close(stream[:, 5], trained[0][:, 5], rtol=1e-4, atol=1e-4)
    for depth in (1, 2):
        slot = 5 + depth
        stream = runner.read(tokens[:, slot : slot + 1], stream[:, -1:], start + slot)
        torch.testing.assert_close(stream[:, 0], trained[depth][:, slot], rtol=1e-4, atol=1e-4)


def test_the_gradient_written_by_hand_is_the_automatic_one():
    torch.manual_seed(2)
    logits = torch.randn(7, 20, requires_grad=True)
    logp = torch.randn(7, 30).log_softmax(-1)
    top = logp.topk(12)
    place = torch.where(top.indices < 20, top.indices, -1)
    args = (place, top.values.exp(), sharpen(top.values, 0.7), 0.7, 0.4, 2.0)
    loss, _, overlap = Distil.apply(logits, *args)
    (by_hand,) = torch.autograd.grad(loss, logits)

    inside = place >= 0
    q1, q = logits.log_softmax(-1), (logits / 0.7).softmax(-1)
    cross = -(args[1] * inside * q1.gather(1, place.clamp_min(0))).sum()
    shared = (torch.minimum(args[2], q.gather(1, place.clamp_min(0))) * inside).sum()
    plain = 0.4 * cross + 2.0 * (7 - shared)
    torch.testing.assert_close(loss, plain)
    torch.testing.assert_close(overlap, shared)
    torch.testing.assert_close(by_hand, torch.autograd.grad(plain, logits)[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("taps", [0, len(TAPS)])
def test_rounds_at_temperature_zero_write_the_greedy_text(library, target, taps):
    tally = evaluate(target, make_draft(target, taps), PROMPTS, TAPS, {VOCAB}, k=3, temperature=0.0, cap=20)
    assert torch.equal(tally.accepted.sum(1) + tally.rounds, tally.emitted)
    assert sum(tally.of([row]).emitted.item() for row in range(4)) == tally.emitted.sum()
    assert tally.acceptance == pytest.approx(tally.alpha)  # with one-hot rows the coin decides nothing
    assert 1 <= tokens_per_pass(tally.by_depth) <= 4


def test_the_speed_up_is_tokens_a_round_over_the_cost_of_a_round():
    assert tokens_per_pass([]) == 1
    assert tokens_per_pass([0.5, 0.4]) == pytest.approx(1 + 0.5 + 0.5 * 0.4)
    cost = Cost(passes=[10.0, 11.0, 12.0], step=1.5, catch_up=1.0)
    assert predicted([0.5, 0.4], cost, 2) == pytest.approx(1.7 * 10 / (12 + 1 + 2 * 1.5))
    assert predicted([0.5, 0.4], cost, 1) == pytest.approx(1.5 * 10 / (11 + 1 + 1.5))


def test_a_second_passes_between_the_tokens_that_are_counted(target, monkeypatch):
    """By a clock that goes on by one second a reading, each prompt lasts a second: the rates are counts of tokens."""
    ticks = iter(range(100))
    monkeypatch.setattr("tools.draft.table.time.perf_counter", lambda: float(next(ticks)))
    assert plain_rate(target, PROMPTS, temperature=1.0, cap=10, seed=0) == 10
    assert 10 <= round_rate(target, make_draft(target), PROMPTS, TAPS, k=3, temperature=1.0, cap=10, seed=0) < 10 + 4


def test_no_training_prompt_touches_a_held_out_topic():
    prompts = training_prompts(3000, seed=0)
    assert len(set(prompts)) == 3000 and prompts == training_prompts(3000, seed=0)
    assert leaks(prompts) == []
    assert len(held_out_prompts()) >= 40


def test_the_recipe_from_prompts_to_a_folder_resumes_and_learns(target, tmp_path):
    cohorts = [Cohort(PROMPTS, [1.0] * 4, max_new=24, seed=seed) for seed in range(4)]
    sample(target, cohorts, TAPS, {VOCAB}, tmp_path / "shards")
    teach(target, [(PROMPTS[0] + [1, 2, 3], 5)], TAPS, tmp_path / "shards", "more")
    corpus = Corpus(tmp_path / "shards")
    assert len(corpus.sequences) == 17 and corpus.answer_tokens() == 4 * 4 * 24 + 3

    recipe = Recipe(tokens=60 * 128, slots=128, warm_up=2, depths=2, save_every=30)
    draft = make_draft(target)
    train(draft, corpus, recipe, tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "train.jsonl").read_text().splitlines()]
    assert rows[-1]["overlap"][0] > rows[0]["overlap"][0] + 0.1 and len(rows[-1]["overlap"]) == 2

    again = make_draft(target)
    train(again, corpus, recipe, tmp_path / "run")  # nothing left to do but to read the checkpoint
    assert len((tmp_path / "run" / "train.jsonl").read_text().splitlines()) == 60
    assert torch.equal(again.head.weight, draft.head.weight)

    save_draft(draft, tmp_path / "draft", TAPS)
    loaded = load_draft(tmp_path / "draft", target.embedding)
    assert torch.equal(loaded.kept, draft.kept)
    torch.testing.assert_close(loaded.head.weight, draft.head.weight, rtol=1e-2, atol=1e-2)
