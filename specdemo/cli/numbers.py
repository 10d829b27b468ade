"""The numbers of a run in plain words."""

from collections.abc import Iterable, Mapping, Sequence

from ..metrics import measure, speedup, why_slower
from ..records import Outcome, Round, RunStats, SamplingParams, Trace, is_real
from ..words import ENGLISH
from .plain import plain

Lines = list[tuple[str, str]]


def layout(lines: Lines) -> str:
    """A label and a text a line; a text without a label goes on with the line above."""
    width = max(len(label) for label, _ in lines)
    return "\n".join(f"{label:{width}}  {text}".rstrip() for label, text in lines)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """A table: the first column from the left, the others from the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(f"{cell:{'>' if i else '<'}{width}}" for i, (cell, width) in enumerate(zip(row, widths))).rstrip()
        for row in rows
    )


def report(trace: Trace) -> Lines:
    """All the numbers of a run."""
    stats = measure(trace.rounds)
    return [
        *describe(stats),
        *(compare(stats, measure(trace.baseline)) if trace.baseline else []),
        *settings(trace.pair, trace.params, trace.k),
        ("length", f"at most {trace.params.max_new_tokens} tokens"),
    ]


def verdicts(rounds: Iterable[Round]) -> str:
    """Whether each draft was judged by its coin: kept where u·q < p, else refused."""
    judged = [event for round_ in rounds for event in round_.events if event.u is not None]
    right = sum((event.u * event.q < event.p) == (event.outcome is Outcome.ACCEPTED) for event in judged)
    return f"{right} of {len(judged)} verdicts follow from u·q < p"


def describe(stats: RunStats) -> Lines:
    """What was measured in a speculative lane."""
    judged = stats.accepted + stats.rejected
    return [
        ("speed", f"{_rate(stats)}, {stats.emitted} tokens in {seconds(stats.seconds)}"),
        ("passes", f"{_or_na(stats.tokens_per_pass, '.2f')} tokens a target pass, {_count(stats.rounds, 'pass')}"),
        ("acceptance", f"{_percent(stats.acceptance)}: {stats.accepted} of {judged} judged drafts were kept"),
        ("drafted", f"{stats.drafted} = {_sum(stats, Outcome.ACCEPTED, Outcome.REJECTED, Outcome.DISCARDED)}"),
        ("emitted", f"{stats.emitted} = {_sum(stats, Outcome.ACCEPTED, Outcome.RESAMPLED, Outcome.BONUS)}"),
        ("time", _split(stats)),
        ("prompt", f"read in {seconds(stats.prefill_s)}; first token after {seconds(stats.first_token_s)}"),
    ]


def compare(stats: RunStats, plain: RunStats) -> Lines:
    """The lane against the target alone."""
    gain = speedup(stats, plain)
    lines = [("target only", f"{_rate(plain)}, {plain.emitted} tokens in {seconds(plain.seconds)}")]
    if gain is not None:
        why = why_slower(stats, plain)
        lines.append(("speed-up", f"{gain:.2f}×" + (f". {ENGLISH[f'why_{why}']}" if why else "")))
    return lines


def settings(pair: Mapping[str, object], params: SamplingParams, k: int | None) -> Lines:
    """What ran, and how to run it again."""
    return [*((role, _model(pair, role)) for role in ("target", "draft")), ("settings", _settings(params, k))]


def seconds(s: float | None) -> str:
    if s is None:
        return "n/a"
    return f"{s:.2f} s" if s >= 1 else f"{1000 * s:.1f} ms"


def _settings(params: SamplingParams, k: int | None) -> str:
    filters = [
        ("top-k", params.top_k, params.top_k > 0),
        ("top-p", params.top_p, params.top_p < 1),
        ("min-p", params.min_p, params.min_p > 0),
    ]
    shown = [
        f"K {'auto' if k is None else k}",
        f"temperature {params.temperature:g}",
        *(f"{name} {x:g}" for name, x, on in filters if on),
    ]
    return ", ".join([*shown, f"seed {params.seed}"])


def _model(pair: Mapping[str, object], role: str) -> str:
    """What a trace tells of a model; any of it may be missing or nonsense."""
    parts = [str(pair.get(role, "unknown"))]
    if is_real(count := pair.get(f"{role}_parameters")):
        parts.append(f"{count / 1e6:,.1f} M parameters")
    parts += [str(pair[key]) for key in (f"{role}_dtype", f"{role}_device") if key in pair]
    return plain(", ".join(parts))


def _rate(stats: RunStats) -> str:
    return f"{_or_na(stats.tokens_per_second, '.1f')} tokens/s"


def _sum(stats: RunStats, *outcomes: Outcome) -> str:
    return " + ".join(f"{getattr(stats, outcome)} {outcome}" for outcome in outcomes)


def _split(stats: RunStats) -> str:
    parts = (("draft", stats.draft_s), ("verify", stats.verify_s), ("other", stats.other_s))
    return ", ".join(
        f"{name} {seconds(s)} ({_percent(s / stats.seconds if stats.seconds else None)})" for name, s in parts
    )


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{100 * share:.1f} %"


def _or_na(x: float | None, spec: str) -> str:
    return "n/a" if x is None else format(x, spec)


def _count(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 'es'}"
