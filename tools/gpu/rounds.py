"""What rounds of a pair take, beside what their passes take, and what they launch and wait for."""

import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from torch.profiler import ProfilerActivity, profile

from specdemo import captured, engine
from specdemo.captured import Stage
from specdemo.clock import Laps
from specdemo.drafters import ModelDrafter
from specdemo.graphs import as_it_is, cuda_graph
from specdemo.metrics import measure
from specdemo.records import Round, SamplingParams

from .shapes import Shape
from .synthetic import Random, laws

_RUNS = 3
_PASSES = 20
_PROFILED = 16  # rounds

#: What the host asks of the driver, by the names that the profiler gives it.
LAUNCHES = ("cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaGraphLaunch")
WAITS = ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")


class Line(NamedTuple):
    """Runs of one kind; seconds are of a round, medians over runs.

    k         0 is the target alone
    passes    what the round's passes of both models take by themselves, recorded and run back to back
    launches  kernels and graphs that the host launched, a round; `waits` that it waited
    """

    how: str
    k: int
    tokens_per_second: float
    tokens_per_round: float
    acceptance: float | None
    round: float
    passes: float
    launches: float
    waits: float

    @property
    def beyond(self) -> float:
        """The share of a round that is neither model's pass."""
        return 1 - self.passes / self.round


class Measured(NamedTuple):
    shape: Shape
    target_bytes: int
    draft_bytes: int
    lines: list[Line]


Run = Callable[[SamplingParams], Iterator[Round]]


def measured(shape: Shape, device: torch.device) -> Measured:
    """Everything about a pair: the target alone and each K, recorded and not."""
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    target, draft = (Random(config, dtype, device) for config in (shape.target, shape.draft))
    bench = _Bench(shape, target, draft, device)
    lines = [bench.line(how, k) for k in (0, *shape.drafts) for how in ("eager", "recorded")]
    return Measured(shape, target.streamed, draft.streamed, lines)


class _Bench:
    def __init__(self, shape: Shape, target: Random, draft: Random, device: torch.device) -> None:
        self._shape, self._target, self._draft, self._device = shape, target, draft, device
        self._params = SamplingParams(seed=0, max_new_tokens=shape.tokens)
        self._prompt = [i % 1000 for i in range(shape.prompt)]
        self._rows = shape.prompt + shape.tokens + max(shape.drafts) + 1
        size, dtype = shape.target.vocab_size, target.weights.dtype
        self._laws = laws(shape.acceptance, size, dtype, device)
        self._capture = cuda_graph if device.type == "cuda" else as_it_is

    def line(self, how: str, k: int) -> Line:
        run = self._recorded(k) if how == "recorded" else partial(self._eager, k)
        list(run(self._params))  # warm-up, and the recording
        stats = [measure(list(run(replace(self._params, seed=seed)))) for seed in range(_RUNS)]
        launches, waits = self._asked(run)
        return Line(
            how,
            k,
            statistics.median(one.tokens_per_second for one in stats),
            statistics.median(one.emitted / one.rounds for one in stats),
            statistics.median(one.acceptance for one in stats) if k else None,
            statistics.median(one.seconds / one.rounds for one in stats),
            self._passes(k),
            launches,
            waits,
        )

    def _models(self, kind: str) -> tuple[object, object]:
        if kind == "fixed":
            return tuple(m.fixed(law, self._rows) for m, law in zip((self._target, self._draft), self._laws))
        return tuple(m.growing(law) for m, law in zip((self._target, self._draft), self._laws))

    def _recorded(self, k: int) -> Run:
        target, draft = self._models("fixed")
        stage = Stage(target, draft if k else None, self._params, capture=self._capture)
        if not k:
            return lambda params: captured.decode(stage, self._prompt, params)
        return lambda params: captured.speculate(stage, self._prompt, params, k=k)

    def _eager(self, k: int, params: SamplingParams) -> Iterator[Round]:
        target, draft = self._models("growing")
        if not k:
            return engine.decode(target, self._prompt, params)
        return engine.speculate(target, ModelDrafter(draft), self._prompt, params, k=k)

    @torch.inference_mode()
    def _passes(self, k: int) -> float:
        """Seconds of one pass of the target over K + 1 tokens and of the draft's K, the first over two tokens."""
        target, draft = self._models("fixed")
        start = torch.full((), self._shape.prompt, device=self._device)
        widths = [(target, k + 1)] + ([(draft, 2), *[(draft, 1)] * (k - 1)] if k else [])
        steps = [(model, torch.zeros(width, dtype=torch.int64, device=self._device)) for model, width in widths]

        def passes() -> None:
            for model, ids in steps:
                model.feed_at(ids, start)

        step, laps = self._capture(passes, ()), Laps(self._device)
        for _ in range(_PASSES):
            step()
            laps.mark("pass")
        if self._device.type == "cuda":
            torch.cuda.synchronize()
        return laps.seconds("pass")[0] / _PASSES

    def _asked(self, run: Run) -> tuple[float, float]:
        """Launches and waits a round, of rounds after the first, which reads the prompt."""
        rounds = run(self._params)
        next(rounds)
        gpu = [ProfilerActivity.CUDA] if self._device.type == "cuda" else []
        with profile(activities=[ProfilerActivity.CPU, *gpu]) as seen:
            made = sum(1 for _, _ in zip(range(_PROFILED), rounds))
        rounds.close()
        counts = Counter(event.name for event in seen.events())
        return tuple(sum(counts[name] for name in names) / made for names in (LAUNCHES, WAITS))
