"""Weights, caches and tokenizers; the only room that imports transformers."""

from .catalogue import CATALOGUE, EMBEDDED, PairSpec
from .errors import LoadError
from .estimate import CONTEXT, Estimate
from .pair import Pair
from .progress import Progress, ignore
from .spread import read_map

__all__ = [
    "CATALOGUE",
    "CONTEXT",
    "EMBEDDED",
    "Estimate",
    "LoadError",
    "Pair",
    "PairSpec",
    "estimate",
    "load_pair",
    "read_map",
]


def load_pair(
    spec: PairSpec,
    *,
    device: str = "auto",
    dtype: str = "auto",
    device_map: str | None = None,
    progress: Progress = ignore,
) -> Pair:
    """Load the pair that `spec` names.

    device      "auto" (cuda, else mps, else cpu) or a name that torch knows
    dtype       "auto", "float32", "bfloat16", "float16" or "int4" (on a CPU, for what our own forward runs)
    device_map  for the target: "auto" (GPUs, then the CPU's memory, by what is free), a device, or a JSON object from parts
                of the library's module to devices; None: it lies where `device` says, as the draft does
    progress    is told a fraction from 0 to 1 and a sentence, as the work goes on

    Raises LoadError with one clear sentence.
    """
    # transformers takes seconds to import; the page opens, and the command line answers, before a pair is asked for.
    from .loading import load

    return load(spec, device, dtype, device_map, progress)


def estimate(
    spec: PairSpec,
    *,
    device: str = "auto",
    dtype: str = "auto",
    device_map: str | None = None,
    tokens: int = CONTEXT,
    progress: Progress = ignore,
) -> Estimate:
    """What loading a pair would take of each device, and whether it fits; no weight is fetched or read.

    tokens  a text's length, for which two caches of the target and one of the draft are to have room

    Others as for `load_pair`. Raises LoadError for what could not run whatever the room.
    """
    # As above.
    from .loading import estimate as estimated

    return estimated(spec, device, dtype, device_map, tokens, progress)
