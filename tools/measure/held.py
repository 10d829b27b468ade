"""The program, but its runs can be kept from telling their readers anything, and it notes when each round was over:

    python -m tools.measure.held FILE serve …

SIGUSR1 holds what is to be told, SIGUSR2 lets go. FILE has a line a round: monotonic time, its seconds, its lane.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from specdemo.cli import main
from specdemo.race import race
from specdemo.records import Round
from specdemo.session import raced
from specdemo.session.run import Run

HOLD, LET_GO = signal.SIGUSR1, signal.SIGUSR2


def can_be_held() -> None:
    telling, await_news = threading.Event(), Run._await_news
    telling.set()

    def held(run: Run, due: float) -> None:
        await_news(run, due)
        telling.wait()

    Run._await_news = held
    signal.signal(HOLD, lambda *_: telling.clear())
    signal.signal(LET_GO, lambda *_: telling.set())


def notes_rounds(path: Path) -> None:
    file = path.open("w", buffering=1)

    def noted(lanes: Mapping[str, Iterator[Round]]) -> Iterator[tuple[str, Round]]:
        for lane, round_ in race(lanes):
            print(time.monotonic(), round_.seconds, lane, file=file)
            yield lane, round_

    raced.race = noted


if __name__ == "__main__":
    can_be_held()
    notes_rounds(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
