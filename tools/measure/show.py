"""A handful of measured numbers as a line."""

import math
import statistics
from collections.abc import Sequence


def show(name: str, values: Sequence[float]) -> None:
    """Their median and range."""
    print(f"{name:42}{statistics.median(values):10.2f}   ({min(values):.2f} to {max(values):.2f}, n = {len(values)})")


def show_sure(name: str, values: Sequence[float], digits: int) -> None:
    """Their median, and where with 95 % that of all such numbers is."""
    low, high = interval(values)
    median, low, high = (f"{x:.{digits}f}" for x in (statistics.median(values), low, high))
    print(f"{name:42}{median:>10}   (95 %: {low} to {high}, n = {len(values)})")


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Holds the median of what the values are drawn from, whatever their law, with 95 % by the sign test; of fewer than
    six values, which cannot be so sure, all of them."""
    ordered, n = sorted(values), len(values)
    outside = 0  # values on either side that the interval can do without: the median is beyond as many with 2.5 %
    while sum(math.comb(n, i) for i in range(outside + 1)) <= 0.025 * 2**n:
        outside += 1
    outside = max(0, outside - 1)
    return ordered[outside], ordered[n - 1 - outside]
