"""Whether weights will fit, asked before gigabytes are fetched: a full CPU memory ends the process without a word."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

_GB = 1e9


def gigabytes(size: float) -> str:
    return f"{size / _GB:.1f} GB"


def weights_bytes(config: "PreTrainedConfig", dtype: torch.dtype) -> int:
    """Memory that the weights of a model of `config` will take; nothing is allocated."""
    # Seconds to import, and a model that was checked once is known to be of this size.
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    return sum(p.numel() * p.element_size() for p in model.parameters())


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
