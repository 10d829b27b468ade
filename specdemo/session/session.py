"""What the page may ask for: a method a question, each safe against whatever a browser may send."""

import threading
from collections.abc import Iterator, Mapping, Sequence

from ..models import CATALOGUE, PairSpec
from ..records import Round, Trace, is_whole
from ..trace import to_json
from ..view.deltas import to_text
from ..view.inspection import inspection
from ..view.position import SHOWN
from ..words import ENGLISH, LANGUAGES, WORDS, Refusal, everywhere
from .log import LANES, Lane, Log
from .pairs import Pairs
from .phase import Phase
from .request import FIELDS, OWN, Request
from .run import Run
from .store import Store
from .turns import Turns

RECORDED = "recorded"

#: Runs that may be waiting or going on at once; one of them works at a time.
AT_ONCE = 24

Question = Mapping[str, object]


class Session:
    """All that runs behind the page, shared by its tabs.

    recorded    the run that a fresh page shows
    pairs       None: loads by `models.load_pair`
    own_models  whether anyone may have any hub id or folder loaded: for a server of one's own only
    default     the pair that a fresh page offers
    """

    def __init__(
        self,
        recorded: Trace | None = None,
        pairs: Pairs | None = None,
        own_models: bool = True,
        default: PairSpec = CATALOGUE["embedded"],
    ) -> None:
        self.own_models, self.default = own_models, default
        self.turns = Turns()
        self.pairs = pairs or Pairs(self.turns)
        self._runs = Store()
        self._places = threading.Semaphore(AT_ONCE)
        if recorded is not None:
            self._runs.pin(RECORDED, Log.of(RECORDED, recorded))

    def preload(self) -> None:
        """Begin to load the default pair in the background."""
        self.pairs.get(self.default)

    def warm_up(self) -> None:
        """Draw once in each theme: the first figure takes plotly a quarter of a second, and no reader should wait."""
        recorded = self._runs.get(RECORDED)
        if recorded and recorded.look().rounds["spec"]:
            for theme in ("light", "dark"):
                inspection(recorded.look().rounds["spec"][0], 0, theme)

    def first_paint(self) -> str:
        """The delta that a fresh page starts with: the recorded run, or nothing."""
        recorded = self._runs.get(RECORDED)
        return to_text(recorded.look().snapshot()) if recorded else "{}"

    def run(self, /, **fields: object) -> Iterator[str]:
        """Deltas of a new run; for a request that cannot be met one delta that says why. Fields as in `Request.of`."""
        try:
            request = self.request(fields)
            if not self._places.acquire(blocking=False):
                raise Refusal("server_full", runs=AT_ONCE)
        except Refusal as error:
            yield to_text({"phase": Phase("failed", {"sentence": error.saying}).told()})
            return
        try:
            run = Run(request, self.pairs, self.turns)
            self._runs.put(run.id, run)
            yield from run.deltas()
        finally:
            self._places.release()

    def request(self, fields: Mapping[str, object]) -> Request:
        """What these fields ask for, as in `Request.of`. Raises ValueError where it cannot be met here."""
        for name in fields.keys() - FIELDS:
            raise Refusal("setting_unknown", name=repr(name[:60]), names=", ".join(FIELDS))
        if fields.get("pair") == OWN and not self.own_models:
            raise Refusal("own_off")
        return Request.of(**fields)

    def stop(self, question: Question) -> dict[str, object] | None:
        """End a run; what the page lacks of it."""
        run = self._runs.get(question.get("run"))
        if isinstance(run, Run):
            run.stop()
        return self.resync(question)

    def resync(self, question: Question) -> dict[str, object] | None:
        """What the page lacks of a run if it has so many rounds of each lane; None for a run that is forgotten."""
        run = self._runs.get(question.get("run"))
        if run is None:
            return None
        since = {lane: n if is_whole(n := question.get(lane)) and n >= 0 else 0 for lane in LANES}
        return run.snapshot(since)

    def inspect(self, question: Question) -> dict[str, object] | None:
        """Figures and sentences of a token; None where there is no such token."""
        theme, place, shown = (question.get(name) for name in ("theme", "event", "shown"))
        kept = self._runs.get(question.get("run"))
        round_ = kept.look().round(question.get("lane"), question.get("round")) if kept else None
        if round_ is None or not is_whole(place) or not 0 <= place < len(round_.events):
            return None
        theme = theme if theme in ("light", "dark") else "light"
        words = WORDS[language] if (language := question.get("language")) in LANGUAGES else ENGLISH
        return inspection(round_, place, theme, max(2, min(shown, SHOWN)) if is_whole(shown) else SHOWN, words)

    def lanes(self, run_id: object) -> Mapping[Lane, Sequence[Round]] | None:
        """The rounds of a run so far; None for a run that is forgotten."""
        run = self._runs.get(run_id)
        return run and {lane: tuple(rounds) for lane, rounds in run.look().rounds.items()}

    def trace(self, question: Question) -> str | None:
        """A run as the JSON of a trace."""
        run = self._runs.get(question.get("run"))
        return to_json(run.trace()) if run else None

    def status(self) -> dict[str, object]:
        """How far the default pair is."""
        loading = self.pairs.peek(self.default)
        if loading is None:
            return {"state": "idle"}
        if loading.pair is not None:
            notes = [everywhere(note) for note in loading.pair.notes]
            return {"state": "ready", "pair": loading.pair.describe(), "notes": notes}
        if loading.error:
            return {"state": "failed", "sentence": everywhere(loading.error)}
        return {"state": "loading", "fraction": loading.fraction, "sentence": everywhere(loading.sentence)}
