"""How long a run will take, by those of late."""

import statistics
import threading
from collections import deque
from collections.abc import Hashable

#: Runs that are remembered.
_KEPT = 20


class Forecast:
    """Seconds a token that was asked for, in runs of late: the prompt and texts that end early are part of it."""

    def __init__(self) -> None:
        self._rates: deque[tuple[Hashable, float]] = deque(maxlen=_KEPT)
        self._lock = threading.Lock()

    def learn(self, pair: Hashable, length: int, seconds: float) -> None:
        """A run of the pair, for which `length` tokens were asked, had the machine for so long. What writes none is no
        run."""
        if not length:
            return
        with self._lock:
            self._rates.append((pair, seconds / length))

    def seconds(self, pair: Hashable, length: int) -> float | None:
        """About; None where no run of the pair is remembered."""
        with self._lock:
            rates = [rate for of, rate in self._rates if of == pair]
        return statistics.median(rates) * length if rates else None
