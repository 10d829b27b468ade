"""Tiny random transformers with a tokenizer of their own, as a `Pair`: made in a moment, nothing is downloaded."""

from functools import cache

import torch
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedConfig, PreTrainedTokenizerFast

from specdemo.models.cached import CachedModel, weights_of
from specdemo.models.pair import Pair, Weights

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MERGES = [
    "h e",
    "t h",
    "th e",
    "Ġ t",
    "Ġt he",
    "i n",
    "a n",
    "an d",
    "Ġ a",
    "Ġ and",
    "ð Ł",
    "ðŁ ĺ",
    "Ġ ðŁ",
    "ä ½",
    "ä½ ł",
    "ï ¿",
]
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


@cache
def byte_tokenizer() -> PreTrainedTokenizerFast:
    """A byte-level BPE of 256 bytes, a few merges that also cut characters apart, and three special tokens.

    Ids: special tokens 0 to 2 (the last one ends a turn), then the bytes, then the merges. It has a chat template.
    """
    merges = [tuple(merge.split(" ")) for merge in MERGES]
    pieces = [*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(merge) for merge in merges)]
    tokenizer = Tokenizer(BPE({piece: i for i, piece in enumerate(pieces)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|endoftext|>",
        eos_token="<|im_end|>",
        additional_special_tokens=["<|im_start|>"],
        chat_template=TEMPLATE,
    )


@cache
def piece_tokenizer() -> PreTrainedTokenizerFast:
    """A BPE in the manner of sentencepiece: "▁" begins a word, and what it lacks falls back to bytes, as in Llama 2.

    Ids: three special tokens, the 256 bytes, then pieces. Its decoder takes one space off the beginning of a text.
    """
    merges = [("t", "h"), ("th", "e"), ("▁", "the"), ("▁", "a"), ("a", "b")]
    letters = ["▁", *"abdehint"]
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256)), *letters, *("".join(m) for m in merges)]
    tokenizer = Tokenizer(
        BPE({piece: i for i, piece in enumerate(pieces)}, merges, unk_token="<unk>", byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def tiny_config(layers: int = 2, **changes: object) -> LlamaConfig:
    """A Llama of 32 dimensions over the byte-level tokenizer's vocabulary."""
    settings = {
        "vocab_size": len(byte_tokenizer()),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "bos_token_id": 0,
        "eos_token_id": 2,
    }
    return LlamaConfig(**(settings | changes))


def tiny_model(config: PreTrainedConfig, seed: int = 0, spread: float = 0.2):
    """Random weights, the same for the same seed; the global random state is left as it was.

    `spread` is the standard deviation of the weights: the library's own 0.02 would make every law nearly flat.
    """
    config.initializer_range = spread
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()


def tiny_weights(title: str, config: PreTrainedConfig, seed: int = 0) -> Weights:
    module = tiny_model(config, seed)
    return weights_of(module, title, f"(random, seed {seed})", lambda: CachedModel(module))


def tiny_pair(same: bool = False, **changes: object) -> Pair:
    """A random Llama pair that shares `byte_tokenizer`; with `same`, target and draft are one set of weights.

    `changes` go to both configurations. Loads in well under a second and needs no download.
    """
    target = tiny_weights("tiny target", tiny_config(3, **changes), seed=1)
    draft = target if same else tiny_weights("tiny draft", tiny_config(1, **changes), seed=2)
    return Pair("tiny", "Tiny random pair", target, draft, byte_tokenizer(), frozenset({2}), ("Random weights.",))
