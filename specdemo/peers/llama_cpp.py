"""llama.cpp through its Python package, an extra that need not be installed."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ..records import SamplingParams
from .writer import Tell

PACKAGE = "llama_cpp"


def installed() -> bool:
    return find_spec(PACKAGE) is not None


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
