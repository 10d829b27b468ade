"""llama.cpp through its Python package, an extra that need not be installed."""

import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ..records import SamplingParams
from .writer import Tell

_PACKAGE = "llama_cpp"
_TRIAL_S = 60

# The same calls as below, in a few tokens.
_TRIAL = """
import sys, llama_cpp
path, threads = sys.argv[1], int(sys.argv[2])
llama = llama_cpp.Llama(path, n_ctx=64, n_threads=threads, n_threads_batch=threads, verbose=False)
tokens = llama.generate(list(range(3, 19)), temp=0.0)
next(tokens), next(tokens)
"""


def installed() -> bool:
    return find_spec(_PACKAGE) is not None


def why_not(file: Path, threads: int) -> str | None:
    """What goes wrong with its first tokens; None where nothing does.

    Tried in a process of its own: a build that does not fit the machine ends its process without a word.
    """
    command = [sys.executable, "-c", _TRIAL, str(file), str(threads)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_TRIAL_S, check=False)
    except subprocess.TimeoutExpired:
        return f"no token in {_TRIAL_S} s"
    if done.returncode < 0:
        return f"its process was ended by signal {-done.returncode}, so this build does not fit this machine"
    return (done.stderr.strip().splitlines() or ["no reason given"])[-1].rstrip(".") if done.returncode else None


class LlamaCpp:
    """A GGUF file in llama.cpp, on the CPU; meets `writer.Write`. `bytes` are those of its weights.

    The package must be installed.
    """

    def __init__(self, file: Path, threads: int, context: int) -> None:
        # An extra: it is compiled for minutes when it is installed.
        import llama_cpp

        self._llama = llama_cpp.Llama(
            str(file),
            n_ctx=context,
            n_threads=threads,
            n_threads_batch=threads,
            n_gpu_layers=0,
            verbose=False,
        )
        self.bytes: int = llama_cpp.llama_model_size(self._llama.model)

    def __call__(self, prompt_ids: Sequence[int], params: SamplingParams, stop_ids: frozenset[int], tell: Tell) -> int:
        llama = self._llama
        llama.reset()  # else it would keep what it knows of a prompt that it has read before
        llama.set_seed(params.seed)
        tokens = llama.generate(
            list(prompt_ids),
            temp=params.temperature,
            top_k=params.top_k,
            top_p=params.top_p,
            min_p=params.min_p,
            repeat_penalty=1.0,
        )
        for token in tokens:
            tell([token])
            written = llama.n_tokens - len(prompt_ids) + 1  # it has read all but the newest
            if token in stop_ids or written == params.max_new_tokens:
                return written
        raise AssertionError("llama.cpp ended a text by itself")

    def close(self) -> None:
        self._llama.close()
