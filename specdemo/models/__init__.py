"""Weights, caches and tokenizers; the only room that imports transformers."""

from .catalogue import CATALOGUE, EMBEDDED, PairSpec
from .errors import LoadError
from .pair import Pair
from .progress import Progress, ignore

__all__ = ["CATALOGUE", "EMBEDDED", "LoadError", "Pair", "PairSpec", "load_pair"]


def load_pair(
    spec: PairSpec,
    *,
    device: str = "auto",
    dtype: str = "auto",
    progress: Progress = ignore,
) -> Pair:
    """Load the pair that `spec` names.

    device    "auto" (cuda, else mps, else cpu) or a name that torch knows
    dtype     "auto", "float32", "bfloat16", "float16" or "int4" (on a CPU, for what our own forward runs)
    progress  is told a fraction from 0 to 1 and a sentence, as the work goes on

    Raises LoadError with one clear sentence.
    """
    # transformers takes seconds to import; the page opens, and the command line answers, before a pair is asked for.
    from .loading import load

    return load(spec, device, dtype, progress)
