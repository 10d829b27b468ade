"""Pairs of real shape, as data."""

from typing import NamedTuple

from transformers import LlamaConfig, PreTrainedConfig, Qwen3Config


class Shape(NamedTuple):
    """A pair to measure.

    acceptance  of each draft, which the synthetic laws give it
    drafts      the K that are tried
    tokens      of a run, after a prompt of `prompt` tokens
    """

    title: str
    target: PreTrainedConfig
    draft: PreTrainedConfig
    acceptance: float = 0.8
    drafts: tuple[int, ...] = (1, 2, 4, 6, 8)
    prompt: int = 128
    tokens: int = 256


def _qwen3(hidden: int, layers: int, heads: int, inner: int, tied: bool) -> Qwen3Config:
    return Qwen3Config(
        vocab_size=151936,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=8,
        head_dim=128,
        intermediate_size=inner,
        tie_word_embeddings=tied,
        max_position_embeddings=40960,
    )


def _smollm2(hidden: int, layers: int, heads: int, groups: int, inner: int) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=49152,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=groups,
        intermediate_size=inner,
        tie_word_embeddings=True,
        max_position_embeddings=8192,
    )


PAIRS = (
    Shape("Qwen3 8B + 0.6B", _qwen3(4096, 36, 32, 12288, False), _qwen3(1024, 28, 16, 3072, True)),
    Shape("SmolLM2 1.7B + 135M", _smollm2(2048, 24, 32, 32, 8192), _smollm2(576, 30, 9, 3, 1536)),
)
