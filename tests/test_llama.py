"""Our own forward against the library's, on tiny random models of every member of the family."""

import copy
import json

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
from specdemo.models.linear import GROUP, four_bits, pack_modules, pack_modules_in_four_bits
from specdemo.models.llama import Llama, why_not
from specdemo.models.norm import norm_by, norm_over
from specdemo.models.rope import Rope
from specdemo.models.skeleton import numbers_of, skeleton
from specdemo.models.stream import _Plain, stream_from, stream_norm_by

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


def test_a_skeleton_of_a_module_is_as_good_as_the_module(module, tmp_path):
    """The same numbers to the last bit, from the file and from what went through JSON."""
    module.save_pretrained(tmp_path)
    numbers = json.loads(json.dumps(numbers_of(module)))
    bones = skeleton(tmp_path / "model.safetensors", numbers, torch.float32, torch.device("cpu"))
    whole, again, ids = Llama(module), Llama(bones, consume=True), torch.arange(20)
    assert torch.equal(again.open().feed(ids), whole.open().feed(ids))
    assert (again.vocab_size, again.context, again.dtype) == (whole.vocab_size, whole.context, whole.dtype)


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
    assert reason in str(why_not(config))


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("rows", [1, 5])
def test_a_stream_is_its_sum_to_the_last_bit(rows, dtype):
    generator = torch.Generator().manual_seed(0)
    x, *additions = (torch.randn(5, rows, 576, generator=generator) * 10).to(dtype)
    weight = torch.rand(576, generator=generator).to(dtype)
    stream, norm = stream_from(x), stream_norm_by(weight, 1e-5)
    for y in additions:
        stream.add(y)
        x = x + y
        assert torch.equal(stream.x, x)
        assert torch.equal(norm(stream), norm_by(weight, 1e-5)(x))


def test_a_stream_that_is_kept_plain_gives_the_same_logits(module, monkeypatch):
    """As on devices other than a CPU."""
    ids = torch.arange(40)
    mirrored = Llama(module).open().feed(ids)
    monkeypatch.setattr("specdemo.models.stream._kind", lambda device: _Plain)
    assert torch.equal(Llama(module).open().feed(ids), mirrored)


def test_the_turns_of_a_longer_table_are_the_same():
    rope = Rope(torch.tensor([1.0, 0.01]), 1.0, torch.float32)
    short = rope.at(1000, 1004)
    assert rope.at(5000, 5003).shape == (2, 3, 2, 4)
    for before, after in zip(short, rope.at(1000, 1004)):
        assert torch.equal(before, after)
    cos, sin = rope.at(5001, 5002)
    angle = 5001 * torch.tensor([1.0, 0.01])
    torch.testing.assert_close(cos[0, 0], angle.cos().repeat(2))
    torch.testing.assert_close(sin[0, 0], torch.cat([-angle.sin(), angle.sin()]))
    assert (cos[0, 1] == 1).all() and (sin[0, 1] == 0).all(), "what turns nothing"


# 4 bits a weight


def coarse(weight):
    """What the 4-bit kernel makes of a weight: its groups' steps, with their sizes in bfloat16."""
    steps, size, middle = four_bits(weight)
    size, middle = size.bfloat16().float()[..., None], middle.bfloat16().float()[..., None]
    return ((steps.unflatten(1, (-1, GROUP)) - 8) * size + middle).flatten(1)


def test_four_bits_are_sixteen_steps_from_the_least_to_the_greatest():
    weight = torch.randn(48, 96, generator=torch.Generator().manual_seed(0))
    weight[3, :GROUP] = 0.25  # a group without any difference
    steps, size, middle = four_bits(weight)
    assert steps.min() == 0 and steps.max() == 15 and size.shape == middle.shape == (48, 3)
    back = (steps.unflatten(1, (-1, GROUP)) - 8) * size[..., None] + middle[..., None]
    assert ((back - weight.unflatten(1, (-1, GROUP))).abs() <= size[..., None] / 2 + 1e-6).all()
    again = four_bits(back.flatten(1))
    assert torch.equal(again[0][4:], steps[4:]), "what lies on its steps stays there"


@pytest.mark.parametrize("bias", [False, True], ids=["plain", "biases"])
def test_four_bits_run_as_their_weights_say(bias):
    """Against the library in float32 with the very weights that the kernel sees."""
    torch.manual_seed(0)
    sizes = SIZE | {"hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4}
    module = LlamaForCausalLM(LlamaConfig(**sizes, initializer_range=0.1, attention_bias=bias, mlp_bias=bias)).eval()
    exact, ids = copy.deepcopy(module), torch.randint(97, (20,))
    for layer in exact.model.layers.modules():
        if isinstance(layer, torch.nn.Linear):
            layer.weight.data = coarse(layer.weight.data)
    run = Llama(module, four_bit=True).open()
    rows = [run.feed(ids[:9])]
    run.feed(ids[:3])
    run.rewind(9)
    rows += [run.feed(part) for part in ids[9:].split([1, 6, 4])]
    expected, scale = reference(exact, ids), reference(module, ids).std()
    assert (torch.cat(rows).float() - expected).abs().max() < 0.05 * scale
    assert (reference(module, ids) - expected).abs().max() > 0.1 * scale, "the bound tells rounded weights from others"


def test_a_shape_that_the_kernel_does_not_take_stays_whole():
    layer = torch.nn.Linear(48, 24)
    x = torch.randn(3, 48).bfloat16()
    whole = pack_modules(layer, dtype=torch.bfloat16)(x)
    assert torch.equal(pack_modules_in_four_bits(layer, dtype=torch.bfloat16)(x), whole)
