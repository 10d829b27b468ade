"""What the page takes from the engine: rounds while it goes on beside rounds while it rests."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Span = tuple[float, float]


class Noted(NamedTuple):
    """A round: when it was over, how long it took, and in which lane."""

    end: float
    seconds: float
    lane: str

    @classmethod
    def of(cls, line: str) -> "Noted":
        end, seconds, lane = line.split()
        return cls(float(end), float(seconds), lane)


def spent(rounds: Sequence[Noted], awake: Sequence[Span]) -> np.ndarray:
    """Of each round the seconds while the page went on and those while it rested: (rounds, 2)."""
    on = [sum(max(0.0, min(r.end, to) - max(r.end - r.seconds, since)) for since, to in awake) for r in rounds]
    return np.array([(here, round_.seconds - here) for here, round_ in zip(on, rounds)])


def work(rounds: Sequence[Noted]) -> np.ndarray:
    """What each round of a run takes in its lane at that length of the text, by a line through the lane: (rounds,)."""
    lanes = np.array([round_.lane for round_ in rounds])
    seconds, usual = np.array([round_.seconds for round_ in rounds]), np.empty(len(rounds))
    for lane in set(lanes):
        (own,) = np.nonzero(lanes == lane)
        usual[own] = np.polyval(np.polyfit(own, seconds[own], 1), own)
    return usual


def lost(spent: np.ndarray, work: np.ndarray) -> float:
    """Seconds by which these rounds would have been over sooner with no page.

    The engine does so much work a second while the page goes on, and so much while it rests, that the work of all
    rounds comes out, weighted by what share of each fell into the one and into the other.
    """
    shares = spent / spent.sum(axis=1, keepdims=True)
    awake, resting = np.linalg.solve(shares.T @ spent, shares.T @ work)
    return spent[:, 0].sum() * (1 - awake / resting)
