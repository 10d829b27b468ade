"""What went wrong, in one sentence for the person who asked."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    IncompleteSnapshotError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from safetensors import SafetensorError

from ..words import Saying
from .errors import LoadError
from .selfcheck import is_out_of_memory

_NO_NETWORK = (LocalEntryNotFoundError, OfflineModeIsEnabled, ConnectionError, TimeoutError)


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Whatever goes wrong inside becomes one sentence about the model `name`."""
    try:
        yield
    except AssertionError:
        raise  # our own mistake is no news about the model
    except Exception as error:
        raise as_load_error(error, name) from error


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


def _sentence(error: BaseException, name: str) -> Saying | None:
    if is_out_of_memory(error):
        return Saying("load_memory", name=name)
    if isinstance(error, GatedRepoError):
        return Saying("hub_gated", name=name)
    if isinstance(error, RepositoryNotFoundError):
        return Saying("hub_unknown", name=name)
    if isinstance(error, IncompleteSnapshotError):
        return Saying("hub_in_part", name=name)
    if isinstance(error, HfHubHTTPError):
        return Saying("hub_status", name=name, status=error.response.status_code)
    if isinstance(error, _NO_NETWORK) or type(error).__module__.split(".")[0] in ("httpx", "httpx2", "httpcore"):
        return Saying("hub_offline", name=name)
    if isinstance(error, SafetensorError):
        return Saying("weights_damaged", name=name, error=_words(error))
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return Saying("load_disk_full", name=name)
    if isinstance(error, KeyError):
        return Saying("load_lacks", name=name, entry=str(error))
    return _from_words(str(error), name)


def _from_words(words: str, name: str) -> Saying | None:
    """The library tells these apart by nothing but their text."""
    if "Error no file named" in words or "does not appear to have a file named model" in words:
        return Saying("weights_none", name=name)
    if "backend tokenizer" in words or "load tokenizer" in words:
        return Saying("tokenizer_none", name=name)
    if "for this kind of AutoModel" in words:
        return Saying("model_not_causal", name=name)
    if "trust_remote_code" in words or "custom code" in words:
        return Saying("model_own_code", name=name)
    if "model type" in words or "Unrecognized model" in words or "should have a `model_type` key" in words.lower():
        return Saying("model_unknown_kind", name=name)
    return None


def _rest(error: BaseException, name: str) -> Saying:
    return Saying("load_failed", name=name, error=_words(error))


def _words(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:200].rstrip(" .:")
