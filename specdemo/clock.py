"""Seconds of the stretches of a round, on the device's own time."""

import time

import torch


class Laps:
    """Marks along a round; the time between two marks belongs to the later one's name.

    A mark on a GPU is an event in its stream, so nothing waits for it. `seconds` may be asked for only after the host
    has waited for the device (the round's one copy), and then reads the events.
    """

    def __init__(self, device: torch.device) -> None:
        self._cuda = device.type == "cuda"
        self._start = time.perf_counter()
        self._marks: list[tuple[str, object]] = [("", self._now())]

    def _now(self) -> object:
        if not self._cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def mark(self, name: str) -> None:
        self._marks.append((name, self._now()))

    def seconds(self, *names: str) -> tuple[float, ...]:
        """Seconds of each name, then of everything else up to now."""
        total = time.perf_counter() - self._start
        spent = dict.fromkeys(names, 0.0)
        for (_, before), (name, after) in zip(self._marks, self._marks[1:]):
            spent[name] += before.elapsed_time(after) / 1000 if self._cuda else after - before
        return *spent.values(), max(0.0, total - sum(spent.values()))
