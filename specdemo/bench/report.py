"""What a run of the bench found, as values and as JSON."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from .engine import Engine
from .profile import Profile
from .ratios import Ratio
from .run import Run
from .spread import Spread

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Row:
    """An engine's numbers over all of its runs.

    per_second  tokens, after the first burst; None where no run had more than one
    per_pass    tokens a pass of the target, after the first
    first_s     seconds to the first token, the reading of the prompt included
    limit       tokens a second at most, were each token to need all weights once; above it only speculation gets
    """

    engine: Engine
    per_second: Spread | None
    per_pass: Spread | None
    first_s: Spread
    limit: float
    tokens: int

    @property
    def of_limit(self) -> float | None:
        return None if self.per_second is None else self.per_second.median / self.limit


@dataclass(frozen=True, slots=True)
class Report:
    """
    machine     what it ran on
    settings    what was asked for
    read_speed  bytes a second, the quickest that was seen
    profiles    of a round of each pair, by its numbers; empty where none was made
    notes       what was not measured, and why
    complete    whether all turns were taken
    """

    machine: Mapping[str, object]
    settings: Mapping[str, object]
    read_speed: float
    rows: Sequence[Row]
    ratios: Sequence[Ratio]
    profiles: Mapping[str, Profile]
    notes: Sequence[str]
    complete: bool

    def to_dict(self) -> dict[str, object]:
        return {
            "schema": SCHEMA,
            "complete": self.complete,
            "machine": dict(self.machine),
            "settings": dict(self.settings),
            "read_speed": self.read_speed,
            "engines": [_row(row) for row in self.rows],
            "ratios": [_ratio(ratio) for ratio in self.ratios],
            "profiles": {
                numbers: asdict(profile) | {"outside": profile.outside} for numbers, profile in self.profiles.items()
            },
            "notes": list(self.notes),
        }


def rows(runs: Sequence[Run], read_speed: float) -> list[Row]:
    """A row an engine, in the order of their first runs."""
    by_engine: dict[Engine, list[Run]] = {}
    for run in runs:
        by_engine.setdefault(run.engine, []).append(run)
    return [_row_of(engine, own, read_speed) for engine, own in by_engine.items()]


def _row_of(engine: Engine, runs: Sequence[Run], read_speed: float) -> Row:
    return Row(
        engine=engine,
        per_second=Spread.of([run.tokens_per_second for run in runs if run.tokens_per_second]),
        per_pass=Spread.of([run.tokens_per_pass for run in runs if run.tokens_per_pass]),
        first_s=Spread.of([run.first_s for run in runs]),
        limit=read_speed / engine.bytes,
        tokens=sum(run.tokens for run in runs),
    )


def machine(device: torch.device) -> dict[str, object]:
    """What ran it, for those who compare."""
    cuda = device.type == "cuda"
    return {
        "processor": torch.cuda.get_device_name(device) if cuda else _processor(),
        "device": str(device),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{name: _version(name) for name in ("torch", "transformers", "llama-cpp-python")},
    }


def _processor(table: Path = Path("/proc/cpuinfo")) -> str:
    try:
        lines = table.read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _row(row: Row) -> dict[str, object]:
    engine = row.engine
    return {
        "family": engine.family,
        "title": engine.title,
        "numbers": engine.numbers,
        "k": engine.k,
        "bytes": engine.bytes,
        "tokens": row.tokens,
        "tokens_per_second": _spread(row.per_second),
        "tokens_per_pass": _spread(row.per_pass),
        "first_token_s": _spread(row.first_s),
        "limit": row.limit,
        "of_limit": row.of_limit,
    }


def _ratio(ratio: Ratio) -> dict[str, object]:
    return {
        "title": ratio.title,
        **_spread(ratio.spread),
        "bar": ratio.bar,
        "at_least": ratio.at_least,
        "met": ratio.met,
    }


def _spread(spread: Spread | None) -> dict[str, float] | None:
    return spread and spread._asdict()
