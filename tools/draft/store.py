"""The folder of a finished draft: `config.json`, `model.safetensors` in bf16, and how to put it together again."""

import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from .student import Draft, Shape


def save_draft(draft: Draft, folder: Path, tap_after: tuple[int, ...]) -> None:
    """Write the weights without the embedding, which is the target's own and is not stored twice."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: tensor.to(torch.bfloat16) for name, tensor in draft.state_dict().items() if name != "kept"}
    save_file(weights | {"kept": draft.kept.to(torch.int32)}, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "model_type": "specdemo_draft",
        "dtype": "bfloat16",
        "embeddings": "target",
        "tap_after": list(tap_after) if draft.shape.taps else [],
        "rms_norm_eps": draft.eps,
        "rope_theta": draft.theta,
        "shape": asdict(draft.shape),
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")


def load_draft(folder: Path, embedding: Tensor) -> Draft:
    """The draft of `folder` over the target's input embedding (vocab, width), which it refers to and does not copy.

    For a transformers model that is `model.get_input_embeddings().weight`.
    """
    config = json.loads((folder / "config.json").read_text())
    shape = Shape(**config["shape"] | {"copied": tuple(config["shape"]["copied"])})
    weights = load_file(folder / "model.safetensors")
    kept = weights.pop("kept").long()
    draft = Draft(shape, embedding, kept, eps=config["rms_norm_eps"], theta=config["rope_theta"])
    draft.load_state_dict(weights | {"kept": kept})
    return draft.pack()
