"""How much memory a device has left: a full CPU memory ends the process without a word."""

import os
from pathlib import Path

import torch

_MB, _GB = 1e6, 1e9


def told_size(size: float) -> str:
    """Bytes as a person reads them."""
    return f"{size / _GB:.1f} GB" if size >= _GB else f"{size / _MB:.1f} MB"


def free_bytes(device: torch.device) -> int | None:
    """Memory that is free for new weights; None where the system does not tell."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    found = [size for size in (_machine_free(), _container_free()) if size is not None]
    return min(found, default=None)


def _machine_free(table: Path = Path("/proc/meminfo")) -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in table.read_text().splitlines() if ":" in line)
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return _machine_total()


def _machine_total() -> int | None:
    """All the memory there is: an upper bound, where the system does not tell what is free."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _container_free(group: Path = Path("/sys/fs/cgroup")) -> int | None:
    try:
        return int((group / "memory.max").read_text()) - int((group / "memory.current").read_text())
    except (OSError, ValueError):  # no limit is the word "max"
        return None
