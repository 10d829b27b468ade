"""Pairs, each loaded once, in the background, and shared by all who ask."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from ..models import LoadError, Pair, PairSpec, load_pair
from ..words import Saying
from .phase import Phase
from .turns import Turns

#: Pairs kept in memory; the one that was asked for longest ago goes first.
KEEP = 2

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Loading:
    """A pair on its way: `done` is set once there is a pair or an error."""

    spec: PairSpec
    fraction: float = 0.0
    sentence: Saying = field(default_factory=lambda: Saying("pair_waiting"))
    pair: Pair | None = None
    error: Saying | None = None
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def phase(self) -> Phase:
        return Phase("loading", {"fraction": self.fraction, "sentence": self.sentence})

    def tell(self, fraction: float, sentence: Saying) -> None:
        self.fraction, self.sentence = fraction, sentence


class Pairs:
    """The pairs in memory."""

    def __init__(self, turns: Turns, load: Callable[..., Pair] = load_pair, keep: int = KEEP) -> None:
        self._turns, self._load, self._keep = turns, load, keep
        self._loadings: OrderedDict[PairSpec, Loading] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, spec: PairSpec) -> Loading:
        """The pair's loading, started if there is none yet or the last one failed."""
        with self._lock:
            loading = self._loadings.get(spec)
            if loading is None or loading.error:
                self._forget_old()
                loading = self._loadings[spec] = Loading(spec)
                threading.Thread(target=self._run, args=(loading,), name=f"load {spec.name}", daemon=True).start()
            self._loadings.move_to_end(spec)
            return loading

    def peek(self, spec: PairSpec) -> Loading | None:
        """The pair's loading if there is one; nothing is started."""
        with self._lock:
            return self._loadings.get(spec)

    def _forget_old(self) -> None:
        """A run that still uses a forgotten pair keeps it alive until it ends."""
        finished = [spec for spec, loading in self._loadings.items() if loading.done.is_set()]
        for spec in finished[: max(0, len(self._loadings) - self._keep + 1)]:
            del self._loadings[spec]

    def _run(self, loading: Loading) -> None:
        try:
            with self._turns.queued(loading) as came:
                came(None)
                loading.pair = self._load(loading.spec, progress=loading.tell)
        except LoadError as error:
            loading.error = error.saying
        except Exception as error:
            _log.exception("loading %s failed", loading.spec.name)
            loading.error = Saying("load_failed", name=loading.spec.title, error=f"{type(error).__name__}: {error}")
        finally:
            loading.done.set()
