"""Is it lossless? The law test on a loaded pair at a real prompt."""

from .check import FALSE_ALARM, SAMPLES, Check, Verdict
from .contrast import Contrast
from .exact import EXACT, ROUNDING, Exact
from .sampled import Cell, Comparison

__all__ = ["EXACT", "FALSE_ALARM", "ROUNDING", "SAMPLES", "Cell", "Check", "Comparison", "Contrast", "Exact", "Verdict"]
