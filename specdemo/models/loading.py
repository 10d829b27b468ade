"""From the names of two models to a loaded pair."""

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from .cached import weights_of
from .catalogue import EMBEDDED, PairSpec
from .embedded import target_folder
from .folder import cache_folder
from .pair import Pair, Weights
from .progress import Progress


def load(spec: PairSpec, device: str, dtype: str, progress: Progress) -> Pair:
    """See `models.load_pair`."""
    progress(0.0, "Loading the target …")
    target = _load(spec.target, device, dtype)
    progress(0.6, "Loading the draft …")
    draft = _load(spec.draft, device, dtype)
    tokenizer = AutoTokenizer.from_pretrained(_folder(spec.target))
    progress(1.0, "Ready.")
    stop = frozenset(i for i in (tokenizer.eos_token_id,) if i is not None)
    return Pair(spec.name, spec.title, target, draft, tokenizer, stop)


def _folder(name):
    return target_folder(cache_folder(), lambda sentence: None) if name == EMBEDDED else name


def _load(name: str, device: str, dtype: str) -> Weights:
    model = AutoModelForCausalLM.from_pretrained(_folder(name), dtype=torch.float32)
    return weights_of(model.eval(), Path(name).name, name)
