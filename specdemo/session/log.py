"""What is known of a run, so far or for good: the source of what is told, drawn and saved."""

from collections.abc import Mapping, Sequence
from typing import Literal

from ..metrics import measure, speedup, why_slower
from ..models import CATALOGUE, PairSpec
from ..records import Fork, Round, RunStats, SamplingParams, Trace, is_whole
from ..text import append
from ..view.deltas import head, instructive, round_row, stats_row
from ..words import Saying
from .phase import Phase

Lane = Literal["spec", "plain"]
LANES: tuple[Lane, ...] = ("spec", "plain")


class Log:
    """The rounds of both lanes, spelled, with what was asked for."""

    def __init__(
        self,
        run_id: str,
        *,
        prompt: str,
        params: SamplingParams,
        k: int | None,
        phase: Phase,
        chat: bool | None = None,
        spec: PairSpec | None = None,
        fork: Fork | None = None,
        recording: str | None = None,
    ) -> None:
        """`spec` is None where nothing on offer could go on with the run; `recording` names one of the library's."""
        self.run_id, self.phase = run_id, phase
        self.prompt, self.params, self.k, self.chat = prompt, params, k, chat
        self.spec, self.fork, self.recording = spec, fork, recording
        self.pair: Mapping[str, object] = {}
        self.notes: Sequence[str] = ()
        self.prompt_ids: Sequence[int] = ()
        self.rounds: dict[Lane, list[Round]] = {lane: [] for lane in LANES}
        self.tails: dict[Lane, str] = {}

    @classmethod
    def of(cls, run_id: str, trace: Trace, recording: str | None = None, file: Saying | str | None = None) -> "Log":
        """A run that was recorded: one of the library's, or what a `file` of somebody's holds."""
        log = cls(
            run_id,
            prompt=trace.prompt,
            params=trace.params,
            k=trace.k,
            phase=Phase("recorded", {} if file is None else {"file": file}),
            spec=CATALOGUE.get(str(trace.pair.get("name"))),
            fork=trace.fork,
            recording=recording,
        )
        log.pair, log.prompt_ids = trace.pair, trace.prompt_ids
        log.rounds = {"spec": list(trace.rounds), "plain": list(trace.baseline)}
        return log

    def look(self) -> "Log":
        return self

    def trace(self) -> Trace:
        """All of it as data that can be saved."""
        return Trace(
            pair=dict(self.pair),
            params=self.params,
            k=self.k,
            prompt=self.prompt,
            prompt_ids=tuple(self.prompt_ids),
            rounds=tuple(self.rounds["spec"]),
            baseline=tuple(self.rounds["plain"]),
            fork=self.fork,
        )

    def finish_text(self, lane: Lane, remnant: str) -> None:
        """Give what an unfinished last character decodes to, to the lane's last emitted token."""
        if not remnant or not self.rounds[lane]:
            return
        self.tails[lane] = remnant
        self.rounds[lane][-1] = append(self.rounds[lane][-1], remnant)

    @property
    def tokens(self) -> int:
        """Tokens of all rounds, drafted ones too."""
        return sum(len(round_.events) for lane in LANES for round_ in self.rounds[lane])

    def round(self, lane: object, index: object) -> Round | None:
        """A round by its address, which may be anything; None where there is none."""
        rounds = self.rounds.get(lane, []) if isinstance(lane, str) else []
        return rounds[index] if is_whole(index) and 0 <= index < len(rounds) else None

    def delta(self, since: Mapping[Lane, int], *, with_head: bool, with_stats: bool) -> dict[str, object]:
        """What the page lacks if it has `since` rounds of each lane."""
        delta: dict[str, object] = {"run": self.run_id, "phase": self.phase.told()}
        if with_head:
            delta["head"] = head(
                self.prompt,
                self.params,
                self.k,
                self.pair,
                self.notes,
                chat=self.chat,
                recorded=self.phase.name == "recorded",
                recording=self.recording,
                fork=self.fork,
            )
        if with_stats:
            delta["stats"] = self._stats()
        for lane in LANES:
            if rows := [round_row(round_) for round_ in self.rounds[lane][since[lane] :]]:
                delta[lane] = rows
        if self.tails:
            delta["tail"] = dict(self.tails)
        if self.phase.final:
            delta["pick"] = instructive(self.rounds["spec"])
        return delta

    def snapshot(self, since: Mapping[Lane, int] | None = None) -> dict[str, object]:
        """All of it, or all that is missing after `since`."""
        return self.delta(since or dict.fromkeys(LANES, 0), with_head=True, with_stats=True)

    def _stats(self) -> dict[str, object]:
        spec, plain = (measure(self.rounds[lane]) for lane in LANES)
        return {"spec": stats_row(spec), "plain": stats_row(plain), **_comparison(spec, plain)}


def _comparison(spec: RunStats, plain: RunStats) -> dict[str, object]:
    gain = speedup(spec, plain)
    return {"speedup": gain and float(f"{gain:.4g}"), "why": why_slower(spec, plain)}
