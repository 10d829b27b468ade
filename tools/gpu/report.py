"""The measurements as a page in Markdown."""

from collections.abc import Iterator, Sequence

import torch

from specdemo.bench.bandwidth import read_speed

from .rounds import Line, Measured

_HEAD = ("K", "how", "tokens/s", "tokens a round", "acceptance", "ms a round", "its passes, ms", "beyond them, %")
_TAIL = ("launches", "waits", "of the limit, %")


def report(pairs: Sequence[Measured], device: torch.device) -> str:
    return "\n".join(_lines(pairs, device)) + "\n"


def _lines(pairs: Sequence[Measured], device: torch.device) -> Iterator[str]:
    speed = read_speed(device)
    yield "# On a GPU"
    yield ""
    yield f"{_name(device)}, torch {torch.__version__}; it reads {speed / 1e9:,.0f} GB/s. Made by `python -m tools.gpu`."
    yield ""
    yield "Models of real shape with random weights; what they say is given, so that each draft is accepted with the"
    yield "probability that stands below. *Recorded*: the two halves of a round as CUDA graphs (`specdemo/captured.py`);"
    yield "*eager*: the engine's own loop. K = 0 is the target alone. Medians of three runs. *Its passes* are those of both"
    yield "models by themselves, recorded; *launches* and *waits* are the host's, a round, by torch's profiler; the limit is"
    yield "the time to read once the weights that the round's passes need."
    for pair in pairs:
        yield ""
        yield f"## {pair.shape.title}"
        yield ""
        yield f"Drafts accepted with probability {pair.shape.acceptance}; {pair.shape.prompt} tokens before,"
        yield f"{pair.shape.tokens} written; weights of {pair.target_bytes / 1e9:.2f} and {pair.draft_bytes / 1e9:.2f} GB."
        yield ""
        yield f"| {' | '.join((*_HEAD, *_TAIL))} |"
        yield f"|{'---|' * len((*_HEAD, *_TAIL))}"
        for line in pair.lines:
            yield f"| {' | '.join(_cells(line, (pair.target_bytes + line.k * pair.draft_bytes) / speed))} |"


def _cells(line: Line, limit: float) -> Iterator[str]:
    yield from (str(line.k), line.how, f"{line.tokens_per_second:.1f}", f"{line.tokens_per_round:.2f}")
    yield "" if line.acceptance is None else f"{line.acceptance:.2f}"
    yield from (f"{1e3 * line.round:.3f}", f"{1e3 * line.passes:.3f}", f"{100 * line.beyond:.1f}")
    yield from (f"{line.launches:.1f}", f"{line.waits:.1f}", f"{100 * limit / line.round:.0f}")


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"No GPU but this {device.type}"
