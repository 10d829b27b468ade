"""A repository of the hub, brought to this machine as far as a pair needs it."""

import json
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import IncompleteSnapshotError
from tqdm import tqdm

from ..words import Saying
from .progress import Progress

_STEP = 0.01  # of the bytes, between two words about them
_CARD = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.json",
    "chat_template.jinja",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "model.safetensors.index.json",
)


def fetch_card(repo: str) -> Path:
    """Everything but the weights; a few megabytes. Raises the hub library's own errors."""
    try:
        return Path(snapshot_download(repo, allow_patterns=list(_CARD), tqdm_class=_bar(None)))
    except IncompleteSnapshotError as error:  # offline, and a file is missing that may not be needed
        return Path(error.snapshot_path)


def fetch_weights(repo: str, folder: Path, progress: Progress) -> Path:
    """The safetensors that the index in `folder` names, or the only one; the folder that they lie in."""
    index = folder / "model.safetensors.index.json"
    if index.exists():
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    else:
        names = ["model.safetensors"]
    return Path(snapshot_download(repo, allow_patterns=names, tqdm_class=_bar(progress)))


def _bar(progress: Progress | None) -> type[tqdm]:
    """A progress bar that tells `progress` what share of the bytes is here, and draws nothing."""
    told = 0.0

    class Quiet(tqdm):
        def display(self, *_: object, **__: object) -> None:
            pass

        def update(self, n: float | None = 1) -> bool | None:
            nonlocal told
            drawn = super().update(n)
            share = min(1.0, self.n / self.total) if self.unit == "B" and self.total else 0.0
            if progress and share >= told + _STEP:
                told = share
                progress(share, Saying("hub_downloading", here=f"{self.n / 1e9:.2f}", all=f"{self.total / 1e9:.2f}"))
            return drawn

    return Quiet
