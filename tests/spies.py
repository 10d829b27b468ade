"""Pairs whose targets count their passes, and may be held up or broken at any of them."""

from dataclasses import replace


class Spied:
    """A model that counts its passes, and before each asks `at(n)`, which may wait or raise."""

    def __init__(self, model, at):
        self._model, self._at, self.passes = model, at, 0

    def __getattr__(self, name):
        return getattr(self._model, name)

    def feed(self, ids):
        self.passes += 1
        self._at(self.passes)
        return self._model.feed(ids)


def spied(pair, at=lambda n: None):
    """The pair with a spy in place of each target that is opened, and the list of these spies."""
    spies = []

    def open_():
        spies.append(Spied(pair.target.open(), at))
        return spies[-1]

    return replace(pair, target=replace(pair.target, open=open_)), spies
