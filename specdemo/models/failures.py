"""What went wrong, in one sentence for the person who asked."""

import errno
from collections.abc import Iterator

from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    IncompleteSnapshotError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from safetensors import SafetensorError

from .errors import LoadError
from .selfcheck import is_out_of_memory

_NO_NETWORK = (LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError, TimeoutError)


def as_load_error(error: BaseException, name: str) -> LoadError:
    """The sentence for an error that loading the model `name` raised."""
    if isinstance(error, LoadError):
        return error
    return LoadError(next((said for e in _chain(error) if (said := _sentence(e, name))), _rest(error, name)))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what caused it, and so on: the library wraps the telling one."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _sentence(error: BaseException, name: str) -> str | None:
    if is_out_of_memory(error):
        return f"Out of memory: {name} does not fit; choose a smaller pair, or a dtype with fewer bytes."
    if isinstance(error, GatedRepoError):
        return (
            f"{name} is gated: accept its licence at https://huggingface.co/{name}, then sign in with `hf auth login`"
            " or set HF_TOKEN."
        )
    if isinstance(error, RepositoryNotFoundError):
        return f"The hub has no model {name}, or it is private and you are not signed in; check the spelling."
    if isinstance(error, IncompleteSnapshotError):
        return f"{name} was downloaded only in part, and the hub cannot be reached to go on; go online once."
    if isinstance(error, HfHubHTTPError):
        return f"The hub answered {error.response.status_code} when asked for {name}; try again later."
    if isinstance(error, _NO_NETWORK) or type(error).__module__.split(".")[0] in ("httpx", "httpx2", "httpcore"):
        return f"The hub cannot be reached and {name} is not on this machine; go online, or choose the embedded pair."
    if isinstance(error, SafetensorError):
        return f"The weights of {name} are damaged ({_words(error)}); delete them and fetch them again."
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"The disk is full: there is no room for {name}."
    return _from_words(str(error), name)


def _from_words(words: str, name: str) -> str | None:
    """The library tells these apart by nothing but their text."""
    if "Error no file named" in words or "does not appear to have a file named model" in words:
        return f"{name} has no weights in safetensors form (or a .gguf file): the only kinds that are read."
    if "backend tokenizer" in words or "load tokenizer" in words:
        return f"{name} has no tokenizer that can be read; its files belong beside the weights."
    if "for this kind of AutoModel" in words:
        return f"{name} is not a causal language model that transformers knows, so it cannot write text."
    if "trust_remote_code" in words or "custom code" in words:
        return f"{name} brings program code of its own, and this program never runs a stranger's code."
    if "model type" in words or "Unrecognized model" in words or "should have a `model_type` key" in words.lower():
        return f"{name} is of a kind that this version of transformers does not know."
    return None


def _rest(error: BaseException, name: str) -> str:
    return f"{name} could not be loaded: {_words(error)}."


def _words(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200].rstrip(" .:")
