"""The pairs on offer, as data."""

from dataclasses import dataclass

#: What stands for a model of the embedded pair in a `PairSpec`.
EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class PairSpec:
    """A pair to load: `target` and `draft` are "embedded", a hub id or a local folder."""

    name: str
    title: str
    target: str
    draft: str
    note: str = ""


_ENTRIES = (
    PairSpec(
        EMBEDDED,
        "SmolLM2 135M + specdemo-draft",
        EMBEDDED,
        EMBEDDED,
        "Works with no account and no hub: a 135M target and our own small draft, distilled from it.",
    ),
    PairSpec(
        "smollm2-1.7b",
        "SmolLM2 1.7B + 135M",
        "HuggingFaceTB/SmolLM2-1.7B-Instruct",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "A draft twelve times smaller than its target; about 4 GB of memory in bfloat16.",
    ),
    PairSpec(
        "smollm2-360m",
        "SmolLM2 360M + 135M",
        "HuggingFaceTB/SmolLM2-360M-Instruct",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "A draft nearly as costly as its target: it shows when speculation does not pay; about 1 GB in bfloat16.",
    ),
    PairSpec(
        "qwen3-8b",
        "Qwen3 8B + 0.6B",
        "Qwen/Qwen3-8B",
        "Qwen/Qwen3-0.6B",
        "Writes Chinese and English; about 18 GB in bfloat16, so for a GPU.",
    ),
    PairSpec(
        "qwen2.5-7b",
        "Qwen2.5 7B + 0.5B",
        "Qwen/Qwen2.5-7B-Instruct",
        "Qwen/Qwen2.5-0.5B-Instruct",
        "The two pad one vocabulary to different widths, which changes nothing; about 17 GB in bfloat16, so for a GPU.",
    ),
    PairSpec(
        "gpt2-xl",
        "GPT-2 XL + DistilGPT-2",
        "openai-community/gpt2-xl",
        "distilbert/distilgpt2",
        "The classic pair, with no chat format; about 3.5 GB in bfloat16.",
    ),
    PairSpec(
        "llama-3.1-8b",
        "Llama 3.1 8B + 3.2 1B",
        "meta-llama/Llama-3.1-8B-Instruct",
        "meta-llama/Llama-3.2-1B-Instruct",
        "Gated: accept the licence of both on the hub and sign in first; about 19 GB in bfloat16.",
    ),
)

CATALOGUE: dict[str, PairSpec] = {entry.name: entry for entry in _ENTRIES}
