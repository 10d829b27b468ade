"""The engines of a run of the bench: our own on each pair, and others on the same weights."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import torch

from ..lanes import plain, speculative
from ..metrics import measure
from ..models import Pair
from ..models.progress import Progress
from ..models.quiet import quiet
from ..models.reference import gguf_of, load_module, streamed_bytes
from ..peers import library, llama_cpp
from ..peers.writer import Tell
from ..records import Round, SamplingParams
from .engine import Engine

#: Tokens that prompt lookup drafts at most, as the library's own examples do.
LOOK_UP = 10


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    families     which to measure
    ks           K of our speculative lane
    assisted_ks  K of the library's assisted generation
    context      tokens that a run may need, its prompt included
    """

    families: Collection[str]
    ks: Sequence[int]
    assisted_ks: Sequence[int]
    context: int

    @property
    def shown_k(self) -> int:
        """The K whose rounds are looked at, and what looking at them costs: 2, as on the page, if it is among them."""
        return 2 if 2 in self.ks else self.ks[0]


@contextmanager
def open_engines(pairs: Sequence[Pair], wanted: Wanted, progress: Progress) -> Iterator[tuple[list[Engine], list[str]]]:
    """The engines, and why some are absent. `pairs` are the same two models in different numbers.

    What others need beside the pairs is in memory until the end. Raises LoadError.
    """
    notes: list[str] = []
    with quiet(), ExitStack() as opened:
        engines = [engine for pair in pairs for engine in _ours(pair, wanted)]
        for pair in {pair.target.dtype: pair for pair in reversed(pairs)}.values():
            engines += _library(pair, wanted, progress)
        if "llama.cpp" in wanted.families:
            engines += _llama_cpp(pairs[0], wanted, progress, opened, notes)
        yield engines, notes


# -- ours -------------------------------------------------------------------------------------------------------------


def _ours(pair: Pair, wanted: Wanted) -> Iterator[Engine]:
    numbers, size = numbers_of(pair), pair.target.streamed_bytes
    alone, auto = partial(plain, pair), partial(speculative, pair, k=None)
    fixed = {k: partial(speculative, pair, k=k) for k in wanted.ks}
    shown = wanted.shown_k
    lanes = [
        ("target", "target only", alone, None),
        *(("speculative", f"K = {k}", lane, k) for k, lane in fixed.items()),
        ("auto", "K auto", auto, None),
        ("unseen", "target only, unseen", partial(alone, top=0), None),
        ("unseen", f"K = {shown}, unseen", partial(fixed[shown], top=0), shown),
    ]
    for family, title, lane, k in lanes:
        if family in wanted.families:
            yield Engine(family, f"specdemo, {title}", numbers, size, partial(_write, lane), k)


def _write(
    lane: Callable[..., Iterator[Round]],
    prompt_ids: Sequence[int],
    params: SamplingParams,
    stop_ids: frozenset[int],
    tell: Tell,
) -> int:
    """One of our lanes as a `writer.Write`; it knows the pair's stop ids itself, and they are these."""
    rounds = []
    for round_ in lane(prompt_ids=prompt_ids, params=params):
        tell([event.token_id for event in round_.emitted])
        rounds.append(round_)
    return measure(rounds).emitted


def numbers_of(pair: Pair) -> str:
    return str(pair.describe()["target_dtype"])


# -- others -----------------------------------------------------------------------------------------------------------


def _library(pair: Pair, wanted: Wanted, progress: Progress) -> Iterator[Engine]:
    """The library's module of the target, in the dtype that the pair computes in, and what can be done with it."""
    if not {"transformers", "assisted", "lookup"} & set(wanted.families):
        return
    dtype, device = pair.target.dtype, pair.target.device
    module = load_module(pair.target.path, "target", dtype, device, progress)
    numbers, size = str(dtype).removeprefix("torch."), streamed_bytes(module)
    if "transformers" in wanted.families:
        yield Engine("transformers", "transformers generate", numbers, size, library.generate(module))
    if "lookup" in wanted.families:
        yield Engine("lookup", "transformers prompt lookup", numbers, size, library.look_up(module, LOOK_UP))
    if "assisted" not in wanted.families:
        return
    if pair.draft.reads_target:
        for k in wanted.assisted_ks:
            title = f"transformers assisted, our draft, K = {k}"
            yield Engine("assisted", title, numbers, size, library.assist_by_reader(module, pair, k), k)
        return
    alone = pair.draft.path == pair.target.path
    draft = module if alone else load_module(pair.draft.path, "draft", dtype, device, progress)
    for k in (None, *wanted.assisted_ks):
        title = f"transformers assisted, {'its schedule' if k is None else f'K = {k}'}"
        yield Engine("assisted", title, numbers, size, library.assist(module, draft, pair.tokenizer, k), k)


def _llama_cpp(pair: Pair, wanted: Wanted, progress: Progress, opened: ExitStack, notes: list[str]) -> Iterator[Engine]:
    if not llama_cpp.installed():
        notes.append("llama.cpp is not measured: it is not installed (pip install -r requirements-bench.txt).")
        return
    file = gguf_of(pair.target.path, progress)
    if file is None:
        notes.append(f"llama.cpp is not measured: {pair.target.title} does not come from a GGUF file.")
        return
    if reason := llama_cpp.why_not(file, torch.get_num_threads()):
        notes.append(f"llama.cpp is not measured: {reason}.")
        return
    llama = llama_cpp.LlamaCpp(file, torch.get_num_threads(), wanted.context)
    opened.callback(llama.close)
    yield Engine("llama.cpp", "llama.cpp", file.stem.rpartition(".")[2] or "GGUF", llama.bytes, llama)
