"""A class: clients and browser tabs that all want something at once."""

import random
import statistics
import threading
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice

import httpx

from specdemo.bench.prompts import PROMPTS
from specdemo.session.library import RECORDINGS

from .bars import Bars
from .client import Client, ending
from .scripted import Script
from .served import Served
from .tabs import AT_REST, Tab, chromium

#: Between two looks at memory, and seconds for what was begun to come to rest at the end.
_MINUTE_S, _REST_S = 60.0, 5.0

#: The bars: of memory's growth, and of the seconds until a recorded run's first picture.
_GROWTH, _PICTURE_S = 0.05, 1.0

_LENGTH = 16  # tokens a run: with 30 clients each waits for half a minute
_SILLY, _LEFT = 0.1, 0.1  # shares of what is asked for that is nonsense, or is left at a random moment
_NONSENSE = ({"k": 99}, {"prompt": ""}, {"temperature": "hot"}, {"length": 10**9})
_PAUSE_S = 0.5


class Seen:
    """What became of all that was asked for, by all threads."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.pictures_s: list[float] = []
        self._lock = threading.Lock()

    def end(self, name: str) -> None:
        with self._lock:
            self.ends[name] += 1

    def picture(self, seconds: float) -> None:
        with self._lock:
            self.pictures_s.append(seconds)


def together(clients: int, scripts: int, tabs: int, seconds: float, bars: Bars) -> None:
    """`scripts` of the clients ask by gradio's own client, the others by HTTP as the page does."""
    by_http, by_gradio, in_tabs = Seen(), Seen(), Seen()
    with Served() as served:
        end = time.monotonic() + seconds
        kinds = [(_student, by_http)] * (clients - scripts) + [(_script, by_gradio)] * scripts
        students = [
            threading.Thread(target=kind, args=(served.url, n, end, seen)) for n, (kind, seen) in enumerate(kinds)
        ]
        watcher = _Memory(served)
        for thread in (*students, watcher):
            thread.start()
        if tabs:
            _in_tabs(served.url, tabs, end, in_tabs)
        for thread in students:
            thread.join()
        watcher.over.set()
        watcher.join()
        time.sleep(_REST_S)
        after = served.memory()
    for who, count, seen in (
        ("clients by HTTP", clients - scripts, by_http),
        ("by gradio_client", scripts, by_gradio),
        ("tabs", tabs, in_tabs),
    ):
        if count:
            _told(bars, f"{count} {who}", seen)
    series = [*watcher.bytes, after]
    growth = series[-1] / series[0] - 1
    megabytes = f"{' '.join(f'{one / 2**20:.0f}' for one in series)}: {100 * growth:+.1f} %"
    bars.hold("memory in MiB, each minute and at the end", megabytes, growth <= _GROWTH)


def _told(bars: Bars, who: str, seen: Seen) -> None:
    bad = {name for name in seen.ends if name not in ("done", "refused", "cancelled")}
    ends = ", ".join(f"{count} {name}" for name, count in seen.ends.most_common())
    bars.hold(f"{who}: each request done, refused or cancelled", ends, bool(seen.ends) and not bad)
    if not seen.pictures_s:
        return
    p95 = _p95(seen.pictures_s)
    told = f"{statistics.median(seen.pictures_s):.2f} s, p95 {p95:.2f} s (n = {len(seen.pictures_s)})"
    bars.hold(f"{who}: a recorded run's first picture, median", told, p95 < _PICTURE_S)


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]


class _Memory(threading.Thread):
    """Looks each minute until it is over."""

    def __init__(self, served: Served) -> None:
        super().__init__()
        self._served, self.over, self.bytes = served, threading.Event(), []

    def run(self) -> None:
        while not self.over.wait(_MINUTE_S):
            self.bytes.append(self._served.memory())


def _student(url: str, n: int, end: float, seen: Seen) -> None:
    """Asks for one thing after another: a run, at times left at a random moment, at times nonsense; and a recording."""
    chance = random.Random(n)
    with Client(url) as client:
        while time.monotonic() < end:
            try:
                seen.picture(_picture(client, chance))
                seen.end(_asked(client, chance, end))
            except httpx.TimeoutException:
                seen.end("hung")
            except httpx.HTTPError as error:
                seen.end(f"broken off ({type(error).__name__})")
            time.sleep(_PAUSE_S * chance.random())


def _picture(client: Client, chance: random.Random) -> float:
    """Seconds until a recorded run and the figures of one of its tokens are there."""
    run, start = {"run": f"recorded-{chance.choice(RECORDINGS)}"}, time.monotonic()
    rounds = len(client.ask("resync", run)["spec"])
    client.ask("inspect", {**run, "lane": "spec", "round": chance.randrange(rounds), "event": 0})
    return time.monotonic() - start


def _fields(chance: random.Random) -> dict[str, object]:
    return {"prompt": chance.choice(PROMPTS), "length": _LENGTH, "seed": chance.randrange(99)}


def _asked(client: Client, chance: random.Random, end: float) -> str:
    """What became of a run; the last one is left when the time is over."""
    what, fields = chance.random(), _fields(chance)
    if what < _SILLY:
        return client.whole(**{**fields, **chance.choice((*_NONSENSE, {"nothing": 1}))}).name
    with client.run(**fields) as deltas:
        if what < _SILLY + _LEFT:
            list(islice(deltas, chance.randrange(1, 30)))
            return "cancelled"
        for delta in deltas:
            if delta["phase"]["name"] not in ("loading", "waiting"):
                return ending(deltas).name
            if time.monotonic() > end:
                return "cancelled"
        return "broken off"


def _script(url: str, n: int, end: float, seen: Seen) -> None:
    """As a student, by the endpoints for scripts."""
    chance = random.Random(n)
    with Script(url) as script:
        while time.monotonic() < end:
            what, fields = chance.random(), _fields(chance)
            if what < _SILLY:
                seen.end(script.run(None, end, **{**fields, **chance.choice(_NONSENSE)}))
            else:
                seen.end(script.run(chance.randrange(1, 20) if what < _SILLY + _LEFT else None, end, **fields))
            time.sleep(_PAUSE_S * chance.random())


def _in_tabs(url: str, count: int, end: float, seen: Seen) -> None:
    """Each tab, in turns: a recorded run, a run of its own; the last one is stopped when the time is over."""
    chance = random.Random(0)
    with chromium() as browser:
        tabs = [Tab(browser, url) for _ in range(count)]
        begun: set[Tab] = set()
        while time.monotonic() < end:
            for tab in tabs:
                if tab.phase not in AT_REST:
                    continue
                if tab in begun:
                    seen.end(tab.phase)
                seen.picture(tab.show(chance.sample(RECORDINGS, len(RECORDINGS))))
                tab.run(chance.choice(PROMPTS), _LENGTH, chance.randrange(99))
                begun.add(tab)
            time.sleep(_PAUSE_S)
        for tab in tabs:
            tab.stop()
            seen.end("cancelled" if tab.phase == "stopped" else tab.phase)
