"""How often a reader is told of a run."""

import os
from collections.abc import Mapping

import torch

#: Seconds between two updates where they cost the run nothing; where its passes take all the cores of this machine, so
#: that making an update takes a little of one from them; and where a browser draws on the same cores, which takes more.
FREE_S, BUSY_S, NEAR_S = 0.1, 0.3, 0.65


def update_s(pair: Mapping[str, object], near: bool) -> float:
    """Seconds between two updates; `pair` as `Pair.describe` has it, empty while nothing is known of it."""
    if pair.get("target_device") != "cpu" or _cores() > torch.get_num_threads():
        return FREE_S
    return NEAR_S if near else BUSY_S


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
