"""Caches over the library's models: whatever is fed and taken back, the logits are those of a forward without one."""

import copy
import random

import pytest
import torch
from tiny import tiny_model
from transformers import (
    BertConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3NextConfig,
    RwkvConfig,
)

from specdemo.models.buffers import BufferLayer
from specdemo.models.cached import CachedModel, context_of
from specdemo.models.errors import LoadError
from specdemo.models.selfcheck import check_model

V = 97
SIZE = {
    "vocab_size": V,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 640,
    "pad_token_id": 0,
}
CONFIGS = {
    "llama": lambda: LlamaConfig(**SIZE),
    "gpt2": lambda: GPT2Config(vocab_size=V, n_embd=32, n_layer=2, n_head=4, n_positions=640),
    "qwen2": lambda: Qwen2Config(**SIZE),
    "qwen2, two kinds of layers": lambda: Qwen2Config(
        **SIZE, use_sliding_window=True, sliding_window=8, max_window_layers=2
    ),
    "qwen3": lambda: Qwen3Config(**SIZE, head_dim=8),
    "gemma2, window 8": lambda: Gemma2Config(**SIZE, head_dim=8, sliding_window=8),
    "gemma3, window 8": lambda: Gemma3TextConfig(**SIZE, head_dim=8, sliding_window=8),
    "mistral, window 8": lambda: MistralConfig(**SIZE, sliding_window=8),
}
NOT_CROPPABLE = {
    "mamba": lambda: MambaConfig(vocab_size=V, hidden_size=32, num_hidden_layers=2, state_size=4),
    "rwkv": lambda: RwkvConfig(vocab_size=V, hidden_size=32, num_hidden_layers=2),
    "qwen3-next": lambda: Qwen3NextConfig(
        **SIZE,
        head_dim=8,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
    ),
}


@pytest.fixture(params=CONFIGS, scope="module")
def module(request):
    return tiny_model(CONFIGS[request.param]())


@pytest.fixture(scope="module")
def llama():
    return tiny_model(CONFIGS["llama"]())


def random_ids(n: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(V, (n,), generator=torch.Generator().manual_seed(seed))


@torch.inference_mode()
def fresh(module, ids) -> torch.Tensor:
    """Logits (n, V) by one forward without a cache."""
    return module(input_ids=torch.as_tensor(ids)[None], use_cache=False).logits[0]


def close(actual, expected) -> None:
    torch.testing.assert_close(actual, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_feeding_and_rewinding(module, seed):
    rng, model, held = random.Random(seed), CachedModel(module), []
    for step in range(40):
        if rng.random() < 0.4:
            held = held[: rng.choice([0, len(held), max(0, len(held) - 1), rng.randint(0, len(held))])]
            model.rewind(len(held))
        new = random_ids(rng.randint(1, 7), seed=1000 * seed + step)
        if rng.random() < 0.2:
            model.prefill(new)
        else:
            close(model.feed(new), fresh(module, [*held, *new.tolist()])[len(held) :])
        held += new.tolist()
        assert model.length == len(held)


def test_growing_buffers_keep_what_they_hold(module):
    ids = random_ids(600)  # three rooms: 256, 512, 1024
    model = CachedModel(module)
    model.prefill(ids[:250])
    rows = [model.feed(part) for part in ids[250:].split([3, 3, 3, 1, 255, 85])]
    close(torch.cat(rows), fresh(module, ids)[250:])
    model.rewind(10)
    close(model.feed(ids[10:20]), fresh(module, ids[:20])[10:])


def test_a_window_is_kept_beyond_its_width_and_rolled_back():
    """The library's own layer drops keys that have left the window, and then cannot go back."""
    module = tiny_model(CONFIGS["mistral, window 8"]())
    for prompt in (4, 7, 8, 20):
        ids, model = random_ids(prompt + 6, seed=prompt), CachedModel(module)
        model.prefill(ids[:prompt])
        model.feed(torch.cat([ids[prompt : prompt + 2], random_ids(3, seed=99)]))
        model.rewind(prompt + 2)
        for i in range(prompt + 2, prompt + 6):
            close(model.feed(ids[i : i + 1]), fresh(module, ids[: i + 1])[i:])


def test_nothing_is_copied_but_what_is_new(llama):
    model = CachedModel(llama)
    model.prefill(random_ids(20))
    before = [layer.keys.data_ptr() for layer in model._cache.layers]
    model.rewind(5)
    model.feed(random_ids(30))
    assert [layer.keys.data_ptr() for layer in model._cache.layers] == before
    assert all(isinstance(layer, BufferLayer) for layer in model._cache.layers)


def test_runs_share_weights_and_nothing_else(llama):
    one, other = CachedModel(llama), CachedModel(llama)
    a, b = random_ids(24, seed=1), random_ids(24, seed=2)
    for i in range(0, 24, 3):
        close(one.feed(a[i : i + 3]), fresh(llama, a[: i + 3])[i:])
        close(other.feed(b[i : i + 3]), fresh(llama, b[: i + 3])[i:])


def test_later_tokens_never_change_earlier_rows(module):
    ids = random_ids(12)
    for prompt in (0, 5):
        rows = []
        for last in (3, 4):
            model = CachedModel(module)
            model.prefill(ids[:prompt]) if prompt else None
            rows.append(model.feed(torch.cat([ids[prompt:-1], torch.tensor([last])]))[:-1])
        torch.testing.assert_close(*rows, atol=1e-6, rtol=0)


def test_what_a_checkpoint_carries_for_generation_plays_no_part():
    module = tiny_model(LlamaConfig(**SIZE))
    expected, ids = fresh(module, random_ids(10)), random_ids(10)
    module.generation_config.update(cache_implementation="static", temperature=9.0, repetition_penalty=5.0, num_beams=4)
    before = copy.deepcopy((module.config.to_dict(), module.generation_config.to_dict()))
    model = CachedModel(module)
    close(torch.cat([model.feed(ids[:4]), model.feed(ids[4:])]), expected)
    assert (module.config.to_dict(), module.generation_config.to_dict()) == before


def test_rewinding_forward_is_our_own_mistake(llama):
    model = CachedModel(llama)
    model.feed(random_ids(3))
    for length in (4, -1):
        with pytest.raises(AssertionError):
            model.rewind(length)


def rope(**settings):
    return LlamaConfig(**SIZE, rope_parameters={"rope_theta": 10000.0, **settings})


@pytest.mark.parametrize(
    ("config", "context"),
    [
        (LlamaConfig(**SIZE), 640),
        (GPT2Config(n_positions=77), 77),
        (rope(rope_type="dynamic", factor=2.0, original_max_position_embeddings=64), 64),
        (rope(rope_type="linear", factor=2.0), 640),
        (MambaConfig(), None),
    ],
)
def test_context(config, context):
    assert context_of(config) == context


# The self-check


def test_the_check_passes_what_can_be_rolled_back(module):
    check_model(lambda: CachedModel(module), torch.float32, "it")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_check_passes_honest_rounding(dtype):
    for seed in range(5):
        module = tiny_model(LlamaConfig(**SIZE), seed=seed).to(dtype)
        check_model(lambda module=module: CachedModel(module), dtype, "it")


@pytest.mark.parametrize("name", NOT_CROPPABLE)
def test_the_check_refuses_states_that_cannot_be_rolled_back(name):
    module = tiny_model(NOT_CROPPABLE[name]())
    with pytest.raises(LoadError, match=f"^{name} cannot take part: .*rolled back.*state-space.*"):
        check_model(lambda: CachedModel(module), torch.float32, name)


def test_the_check_refuses_what_sees_the_future():
    config = BertConfig(vocab_size=V, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
    module = tiny_model(config)
    with pytest.raises(LoadError, match="not a causal language model"):
        check_model(lambda: CachedModel(module), torch.float32, "bert")


class OffByOne(CachedModel):
    def rewind(self, length):
        super().rewind(min(self.length, length + 1))


class PositionsGoOn(CachedModel):
    def rewind(self, length):
        for layer in self._cache.layers:
            layer.rewind(length)


class KeysStay(CachedModel):
    def rewind(self, length):
        self._length = length


@pytest.mark.parametrize("fault", [OffByOne, PositionsGoOn, KeysStay])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_check_has_power(llama, fault, dtype):
    module = copy.deepcopy(llama).to(dtype)
    with pytest.raises(LoadError, match="cannot take part"):
        check_model(lambda: fault(module), dtype, "it")


def test_the_check_refuses_broken_weights():
    module = tiny_model(LlamaConfig(**SIZE))
    torch.nn.init.constant_(module.lm_head.weight, float("nan"))
    with pytest.raises(LoadError, match="not numbers"):
        check_model(lambda: CachedModel(module), torch.float32, "it")


def test_the_check_refuses_a_vocabulary_that_is_not_the_models_own():
    module = tiny_model(LlamaConfig(**SIZE))
    module.config.vocab_size = V - 1
    with pytest.raises(LoadError, match=r"logits .* have the shape"):
        check_model(lambda: CachedModel(module), torch.float32, "it")
