"""What the page may ask for: a method a question, each safe against whatever a browser may send."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal
from weakref import WeakSet

from ..lab.setting import MOST, normalised
from ..models import CATALOGUE, PairSpec
from ..records import Round, as_text, is_real, is_whole
from ..trace import MAX_BYTES, check_size, from_json, to_json
from ..view.deltas import to_text
from ..view.inspection import inspection, what_if
from ..view.position import SHOWN, folded, rows
from ..view.spelling import visible
from ..view.profile import profile
from ..view.timing import rounds_figure
from ..words import Refusal, Saying, everywhere
from .asking import Answer, Question, theme_of, told, words_of
from .ended import Ended, Listener, Stopwatch
from .fork import forked
from .job import Job
from .library import Library
from .log import LANES, Lane, Log
from .phase import Phase
from .place import Here, Place
from .request import FIELDS, OWN, Request
from .run import Run
from .seats import Seats, page_of
from .store import Kept, Store

#: Of a file that a page may open: its bytes, and its tokens in both lanes, of which a browser draws each.
MAX_FILE, MAX_TOKENS = MAX_BYTES // 4, 20_000

#: Characters of its name that are kept.
MAX_NAME = 80

#: How the server is: a pair is there, or on its way, or could not be loaded, or no new run is taken.
Health = Literal["ready", "loading", "failed", "stopping"]


class Session:
    """All that runs behind the page, shared by its tabs.

    library     the recorded runs; the first one is what a fresh page shows
    place       where pairs are and runs run; None: in this process
    own_models  whether anyone may have any hub id or folder loaded: for a server of one's own only
    default     the pair that a fresh page offers

    `listeners` are told of each run that is over; `jobs` are what `close` ends.
    """

    def __init__(
        self,
        library: Library | None = None,
        place: Place | None = None,
        own_models: bool = True,
        default: PairSpec = CATALOGUE["embedded"],
    ) -> None:
        self.own_models, self.default, self.library = own_models, default, library
        self.place = place or Here()
        self._runs = Store()
        self.seats = Seats()
        self.listeners: list[Listener] = []
        self.jobs: WeakSet[Job] = WeakSet()
        self._going: set[Run] = set()
        self._closed = self._has_run = False

    def preload(self) -> None:
        """Begin to load the default pair in the background, unless that has begun before."""
        self.place.prepare(self.default)

    def warm_up(self) -> None:
        """Draw once in each theme: the first figure takes plotly a quarter of a second, and no reader should wait."""
        first = self.library and self.library.first
        if first and first.rounds["spec"]:
            for theme in ("light", "dark"):
                inspection(first.rounds["spec"][0], 0, theme)

    def first_paint(self) -> str:
        """The delta that a fresh page starts with: the first recorded run, or nothing."""
        first = self.library and self.library.first
        return to_text(first.snapshot()) if first else "{}"

    def run(self, /, **fields: object) -> Iterator[str]:
        """Deltas of a new run; for a request that cannot be met one delta that says why.

        Fields as in `Request.of`, and `page`, as in `seats.page_of`: it ends what this page asked for before; `near`
        where who reads it is on this machine.
        """
        about = {name: fields.pop(name, None) for name in ("page", "near")}
        return self._told(about, lambda: self.request(fields))

    def fork(self, question: Question) -> Iterator[str]:
        """Deltas of a new run that leaves another one.

        `question` as in `fork.forked`, with the other's id as `run`, and `page` and `near` as for a run.
        """
        return self._told(question, lambda: self._forked(question))

    def _told(self, question: Question, request: Callable[[], Request]) -> Iterator[str]:
        watch = Stopwatch()
        try:
            if self._closed:
                raise Refusal("server_stopping")
            run = Run(request(), self.place)
            self.seats.enter(run, page_of(question))
        except Refusal as error:
            self._tell(watch.refused(error))
            yield to_text({"phase": _refused(error)})
            return
        self._going.add(run)
        self.jobs.add(run)
        try:
            self._runs.put(run.id, run)
            yield from run.deltas(near=bool(question.get("near")))
        finally:
            self._going.discard(run)
            self._tell(watch.over(run.look()))

    def _tell(self, ended: Ended) -> None:
        self._has_run |= ended.end == "done"
        for listener in self.listeners:
            listener(ended)

    def close(self) -> None:
        """Take no new run, and end what goes on: whoever reads a run is told that it was stopped."""
        self._closed = True
        for job in tuple(self.jobs):
            job.stop()

    @property
    def busy(self) -> bool:
        """Whether a run still has a reader, or any work goes on."""
        return bool(self._going) or any(job.working for job in tuple(self.jobs))

    @property
    def waiting(self) -> int:
        """Runs that wait for their turn."""
        return sum(run.look().phase.name == "waiting" for run in tuple(self._going))

    def health(self) -> Health:
        """Whether a run that is asked for now could begin; answers at once."""
        if self._closed:
            return "stopping"
        ready = self.place.readiness(self.default)
        if ready is None:  # not asked for yet, or forgotten for others that were asked for later
            return "ready" if self._has_run else "loading"
        return ready.name if isinstance(ready, Phase) else "ready"

    def request(self, fields: Mapping[str, object]) -> Request:
        """What these fields ask for, as in `Request.of`. Raises ValueError where it cannot be met here."""
        if self._closed:
            raise Refusal("server_stopping")
        for name in fields.keys() - FIELDS:
            raise Refusal("setting_unknown", name=repr(name[:60]), names=", ".join(FIELDS))
        if fields.get("pair") == OWN and not self.own_models:
            raise Refusal("own_off")
        return Request.of(**fields)

    def _forked(self, question: Question) -> Request:
        kept = self._kept(question)
        if kept is None:
            raise Refusal("fork_forgotten")
        return forked(kept.look(), question)

    def open(self, question: Question) -> dict[str, object]:
        """Show a saved run, the text of whose file is `question["text"]`: all of it, or the phase that says why not.

        `question["name"]` is the file's, for the page to call the run by.
        """
        text, size, name = question.get("text"), question.get("size"), as_text(question.get("name"))[:MAX_NAME]
        try:
            check_size(size if is_whole(size) else 0, MAX_FILE)
            trace = from_json(text if isinstance(text, str) else "", MAX_FILE)
            log = Log.of(secrets.token_urlsafe(16), trace, file=name or Saying("runs_file"))
            if log.tokens > MAX_TOKENS:
                raise Refusal("trace_tokens", tokens=f"{log.tokens:,}", most=f"{MAX_TOKENS:,}")
        except Refusal as error:
            return {"phase": _refused(error)}
        self._runs.put(log.run_id, log)
        return log.snapshot()

    def stop(self, question: Question) -> dict[str, object] | None:
        """End a run; what the page lacks of it."""
        run = self._kept(question)
        if isinstance(run, Run):
            run.stop()
        return self.resync(question)

    def resync(self, question: Question) -> dict[str, object] | None:
        """What the page lacks of a run if it has so many rounds of each lane; None for a run that is forgotten."""
        run = self._kept(question)
        if run is None:
            return None
        since = {lane: n if is_whole(n := question.get(lane)) and n >= 0 else 0 for lane in LANES}
        return run.snapshot(since)

    def inspect(self, question: Question) -> dict[str, object] | None:
        """Figures and sentences of a token, or of what it would be had its coin been `u`; None where there is none."""
        round_, place = self._place(question)
        if round_ is None:
            return None
        shown, u = question.get("shown"), question.get("u")
        shown = max(2, min(shown, SHOWN)) if is_whole(shown) else SHOWN
        look = (theme_of(question), shown, words_of(question))
        if round_.events[place].u is not None and is_real(u) and 0 <= u <= 1:
            return what_if(round_, place, u, *look)
        return inspection(round_, place, *look)

    def rounds(self, question: Question) -> dict[str, object] | None:
        """Where the time of each round went, the round `current` marked: a figure, and the parts in numbers."""
        kept, current = self._kept(question), question.get("current")
        if kept is None:
            return None
        current = current if is_whole(current) else None
        rounds, words = kept.look().rounds["spec"], words_of(question)
        return {
            "figure": rounds_figure(rounds, theme_of(question), words, current),
            "profile": profile(rounds, words, current),
        }

    def lanes(self, run_id: object) -> Mapping[Lane, Sequence[Round]] | None:
        """The rounds of a run so far; None for a run that is forgotten."""
        run = self._kept({"run": run_id})
        return run and {lane: tuple(rounds) for lane, rounds in run.look().rounds.items()}

    @told
    def candidates(self, question: Question) -> Answer:
        """A token's position as distributions for the lab: its likeliest candidates and everything else as one more."""
        round_, place = self._place(question)
        if round_ is None:
            raise Refusal("lab_no_token")
        event = round_.events[place]
        if event.q is None:
            raise Refusal("lab_no_draft", token=visible(event.text) or f"#{event.token_id}")
        here, others = rows(folded(event, MOST - 1)), words_of(question)["everything_else"]
        texts = [visible(row.text) or f"#{row.token_id}" if row.token_id is not None else others for row in here]
        return {"tokens": texts, **{side: normalised([getattr(row, side) for row in here]) for side in ("p", "q")}}

    def trace(self, question: Question) -> str | None:
        """A run as the JSON of a trace."""
        run = self._kept(question)
        return to_json(run.trace()) if run else None

    def _place(self, question: Question) -> tuple[Round | None, int]:
        """The round and the place in it that a question names; None where there is no such token."""
        place, kept = question.get("event"), self._kept(question)
        round_ = kept.look().round(question.get("lane"), question.get("round")) if kept else None
        if round_ is None or not is_whole(place) or not 0 <= place < len(round_.events):
            return None, 0
        return round_, place

    def status(self) -> dict[str, object]:
        """How far the default pair is."""
        ready = self.place.readiness(self.default)
        if ready is None:
            return {"state": "idle"}
        if isinstance(ready, Phase):
            told = ready.told()
            return {"state": told.pop("name"), **told}
        return {"state": "ready", "pair": ready.pair, "notes": [everywhere(note) for note in ready.notes]}

    def _kept(self, question: Question) -> Kept | None:
        run_id = question.get("run")
        return self._runs.get(run_id) or (self.library and self.library.get(run_id))


def _refused(error: Refusal) -> dict[str, object]:
    return Phase("failed", {"sentence": error.saying}).told()
