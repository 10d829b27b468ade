"""Our own forward against the library's, on tiny random models of every member of the family."""

import copy

import pytest
import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from specdemo.models.agreement import agree, answers
from specdemo.models.llama import Llama, why_not
from specdemo.models.norm import norm_by, norm_over
from specdemo.models.rope import Rope

SIZE = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 640,
}
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
FAMILY = {
    "llama": (LlamaForCausalLM, LlamaConfig(**SIZE)),
    "llama, tied": (LlamaForCausalLM, LlamaConfig(**SIZE, tie_word_embeddings=True)),
    "llama, biases": (LlamaForCausalLM, LlamaConfig(**SIZE, attention_bias=True, mlp_bias=True)),
    "llama, wide heads": (LlamaForCausalLM, LlamaConfig(**SIZE, head_dim=16)),
    "llama 3": (LlamaForCausalLM, LlamaConfig(**SIZE, rope_parameters=LLAMA3_ROPE)),
    "mistral": (MistralForCausalLM, MistralConfig(**SIZE, sliding_window=None)),
    "qwen2": (Qwen2ForCausalLM, Qwen2Config(**SIZE)),
    "qwen3": (Qwen3ForCausalLM, Qwen3Config(**SIZE, head_dim=16)),
}


@pytest.fixture(params=FAMILY, scope="module")
def module(request):
    kind, config = FAMILY[request.param]
    torch.manual_seed(0)
    module = kind(config).eval()
    with torch.no_grad():  # fresh norms and biases are ones and zeros, which would hide a forgotten one
        for parameter in module.parameters():
            if parameter.dim() == 1:
                parameter.normal_(1, 0.3)
    return module


@torch.inference_mode()
def reference(module, ids):
    return module(ids[None]).logits[0]


def test_same_logits_in_any_blocks(module):
    ids = torch.randint(97, (600,), generator=torch.Generator().manual_seed(1))
    run = Llama(module).open()
    sizes = [1, 1, 7, 1, 250, 5, 300, 35]  # across two growths of the cache
    ours = torch.cat([run.feed(part) for part in ids.split(sizes)])
    assert run.length == 600
    torch.testing.assert_close(ours, reference(module, ids), atol=1e-5, rtol=1e-4)


def test_rewinding_leaves_no_trace(module):
    generator = torch.Generator().manual_seed(2)
    run, ids = Llama(module).open(), torch.randint(97, (40,), generator=generator)
    run.prefill(ids[:30])
    for wrong in (30, 5, 2, 1):
        run.feed(torch.randint(97, (wrong,), generator=generator))
        run.rewind(30 - wrong)
        run.prefill(ids[30 - wrong : 30])
    torch.testing.assert_close(run.feed(ids[30:]), reference(module, ids)[30:], atol=1e-5, rtol=1e-4)


def test_runs_share_nothing_but_weights(module):
    weights, ids = Llama(module), torch.arange(20)
    one, other = weights.open(), weights.open()
    for a, b in zip(ids.split(4), ids.flip(0).split(4)):
        ours, theirs = one.feed(a), other.feed(b)
    torch.testing.assert_close(ours, reference(module, ids)[-4:], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(theirs, reference(module, ids.flip(0))[-4:], atol=1e-5, rtol=1e-4)


def test_a_module_may_be_taken_apart(module):
    whole, ids = copy.deepcopy(module), torch.arange(20)
    ours = Llama(whole, consume=True).open().feed(ids)
    assert len(whole.model.layers) == 0
    torch.testing.assert_close(ours, reference(module, ids), atol=1e-5, rtol=1e-4)


def test_agreement_sees_a_wrong_forward():
    torch.manual_seed(0)
    module = LlamaForCausalLM(LlamaConfig(**SIZE, initializer_range=0.5)).eval()
    right, wrong = Llama(module), Llama(module)
    wrong.rope = Rope(wrong.rope.frequencies * 0.5, 1.0, torch.float32)
    expected = answers(right.open())
    assert agree(answers(Llama(module).open()), expected, torch.float32)
    assert not agree(answers(wrong.open()), expected, torch.float32)
    assert not agree(answers(wrong.open()), expected, torch.bfloat16)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (MistralConfig(**SIZE, sliding_window=8), "sliding window"),
        (LlamaConfig(**SIZE, hidden_act="gelu"), "activation"),
        (LlamaConfig(**SIZE, rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}), "rotary"),
    ],
)
def test_what_it_cannot_run_is_said(config, reason):
    assert reason in why_not(config)


def test_the_family_is_run():
    for _, config in FAMILY.values():
        assert why_not(config) is None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("rows", [1, 5])
def test_the_norm_is_the_library_s(rows, dtype):
    x = (torch.randn(rows, 576, generator=torch.Generator().manual_seed(0)) * 30).to(dtype)
    x[0, 3] = 3000  # as a stream's few massive entries are
    weight = torch.rand(576, generator=torch.Generator().manual_seed(1)).to(dtype)
    exact = torch.nn.functional.rms_norm(x.double(), (576,), weight.double(), 1e-5)
    torch.testing.assert_close(norm_by(weight, 1e-5)(x).double(), exact, atol=1e-7, rtol=4 * torch.finfo(dtype).eps)
    bare = torch.nn.functional.rms_norm(x.double(), (576,), None, 1e-5)
    ours = norm_over(576, None, 1e-5, x.device)(x)
    torch.testing.assert_close(ours.double(), bare, atol=1e-7, rtol=4 * torch.finfo(dtype).eps)


def test_the_turns_of_a_longer_table_are_the_same():
    rope = Rope(torch.tensor([1.0, 0.01]), 1.0, torch.float32)
    short = rope.at(1000, 1004)
    assert rope.at(5000, 5003)[0].shape == (3, 1, 4)
    for before, after in zip(short, rope.at(1000, 1004)):
        assert torch.equal(before, after)
    cos, sin = rope.at(5001, 5002)
    angle = 5001 * torch.tensor([1.0, 0.01])
    torch.testing.assert_close(cos[0, 0], angle.cos().repeat(2))
    torch.testing.assert_close(sin[0, 0], torch.cat([-angle.sin(), angle.sin()]))
