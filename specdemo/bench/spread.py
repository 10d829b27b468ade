"""A handful of measured numbers in three."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple


class Spread(NamedTuple):
    """The median of some numbers and their quartiles; of three or fewer the least and the largest."""

    median: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread | None":
        """None where there is no number."""
        if not values:
            return None
        low, high = min(values), max(values)
        if len(values) > 3:
            low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        return cls(statistics.median(values), low, high, len(values))
