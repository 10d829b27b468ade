"""How fast this machine reads memory: what bounds a token that needs all weights once."""

import time
from functools import partial

import torch

_BYTES = 2**28  # far beyond what caches keep, for a share of them would flatter the machine
_READS = 4


def read_speed(device: torch.device) -> float:
    """Bytes a second of the quickest of several reads of a large block, on the threads that torch is set to."""
    block = torch.ones(_BYTES // 4, dtype=torch.float32, device=device)
    read = partial(torch.dot, block, block) if device.type == "cpu" else block.sum
    return _BYTES / min(_seconds(read) for _ in range(_READS))


def _seconds(read: object) -> float:
    """Until the result is on the host."""
    start = time.perf_counter()
    read().item()
    return time.perf_counter() - start
