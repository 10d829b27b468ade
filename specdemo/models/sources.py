"""Where a model comes from: the embedded one, a folder or a GGUF file of this machine, or the hub."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..words import Saying
from .catalogue import EMBEDDED
from .eagle import MODEL_TYPE
from .embedded import DRAFT_FOLDER, target_folder
from .errors import LoadError
from .folder import cache_folder
from .hub import fetch_card, fetch_weights
from .progress import Progress

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")

_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


@dataclass(frozen=True, slots=True)
class Source:
    """Files of one model. The weights of a hub model need not be here yet.

    gguf       the name of a GGUF file in `folder`, where the model is one
    hub        the hub id, where it is of the hub
    tokenizer  the folder of its tokenizer
    own        our own folder, where it is the embedded one: of a kind that is known, and we may write there
    """

    title: str
    name: str
    folder: Path
    tokenizer: Path
    gguf: str | None = None
    hub: str | None = None
    own: Path | None = None

    @property
    def reads_target(self) -> bool:
        """Whether it is a draft that reads its target's hidden states, which no library knows."""
        try:
            return json.loads((self.folder / "config.json").read_text(encoding="utf-8"))["model_type"] == MODEL_TYPE
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def read_config(self) -> "PreTrainedConfig":
        # Any model's configuration takes a second to import, which the embedded one can do without.
        from transformers import AutoConfig

        return AutoConfig.from_pretrained(self.folder, **self._how())

    def read_tokenizer(self) -> "PreTrainedTokenizerBase":
        if self.own:
            # The kind that the conversion wrote; to look which it is takes the library half a second.
            from transformers import PreTrainedTokenizerFast as Reader
        else:
            # Seconds to import.
            from transformers import AutoTokenizer as Reader
        return Reader.from_pretrained(self.tokenizer, **self._how())

    def weights(self, progress: Progress) -> Path:
        """The folder of the weights, fetched now if they are of the hub and not here."""
        return fetch_weights(self.hub, self.folder, progress) if self.hub else self.folder

    def _how(self) -> dict[str, object]:
        # None would make the library ask on the terminal whether to run a stranger's code.
        how: dict[str, object] = {"trust_remote_code": False, "local_files_only": True}
        return how | ({"gguf_file": self.gguf} if self.gguf else {})


def locate(name: str, role: str, progress: Progress) -> Source:
    """The source that `name` means; `role` is "target" or "draft". Raises LoadError and the hub library's errors."""
    if name == EMBEDDED:
        return _embedded(role, progress)
    path = Path(name).expanduser()
    if path.is_dir():
        return _local(name, path)
    if path.suffix == ".gguf" and path.is_file():
        return Source(path.stem, name, path.parent, path.parent, gguf=path.name)
    if not _HUB_ID.fullmatch(name):
        raise LoadError("source_unknown", name=repr(name))
    progress(0.0, Saying("hub_asking", name=name))
    folder = fetch_card(name)
    return Source(name.rpartition("/")[2], name, folder, folder, hub=name)


def _embedded(role: str, progress: Progress) -> Source:
    home = target_folder(cache_folder(), lambda sentence: progress(0.0, sentence))
    if role == "target":
        return Source("SmolLM2-135M-Instruct", EMBEDDED, home, home, own=home)
    if not (DRAFT_FOLDER / "model.safetensors").is_file():
        raise LoadError("draft_missing", folder=DRAFT_FOLDER)
    return Source("specdemo-draft", EMBEDDED, DRAFT_FOLDER, home, own=home)


def _local(name: str, folder: Path) -> Source:
    title = folder.resolve().name
    files = sorted(folder.glob("*.gguf"))
    if (folder / "config.json").exists():
        _refuse_pickles(name, folder)
        return Source(title, name, folder, folder)
    if not files:
        raise LoadError("folder_empty", folder=folder)
    if len(files) > 1:
        raise LoadError("folder_several", folder=folder, count=len(files), first=files[0])
    return Source(title, name, folder, folder, gguf=files[0].name)


def _refuse_pickles(name: str, folder: Path) -> None:
    """Where nothing but pickles hold weights: to read one is to run whatever program is in it."""
    pickles = sorted(path.name for path in folder.iterdir() if path.suffix in _PICKLES)
    if pickles and not any(folder.glob("*.safetensors")):
        raise LoadError("weights_pickled", name=name, file=pickles[0])
