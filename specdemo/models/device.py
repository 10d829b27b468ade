"""On what a pair runs, and in which numbers."""

import torch

from .errors import LoadError

#: Weights of 4 bits; activations and caches are bfloat16 then.
FOUR_BIT = "int4"

#: The numbers that can be asked for, and the dtype in which sums are done.
DTYPES = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    FOUR_BIT: torch.bfloat16,
}


def choose_device(name: str) -> torch.device:
    """`name`, or for "auto" the best that is here: cuda, else mps, else cpu. Raises LoadError for one that is not."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise LoadError(f"The device {name!r} is not here; choose auto, cpu, cuda or mps.") from error
    return device


def choose_dtype(name: str, device: torch.device) -> tuple[torch.dtype, str]:
    """`name`, or for "auto" the fastest that loses nothing that matters; and a sentence that says why.

    Raises LoadError for a name that is not known, or not possible on the device.
    """
    if name == FOUR_BIT:
        if device.type != "cpu":
            raise LoadError(f"The dtype {name!r} runs on a CPU only, and the device is {device}; choose another dtype.")
        return DTYPES[name], (
            "int4, as asked: 4 bits a weight, a quarter of bfloat16's memory traffic. The embedded target's file has"
            " these very steps, their sizes rounded to bfloat16; any other target is rounded to 16 steps a weight."
        )
    if name in DTYPES:
        return DTYPES[name], f"{name}, as asked."
    if name != "auto":
        raise LoadError(f"The dtype {name!r} is not known; choose auto, {', '.join(DTYPES)}.")
    if device.type == "cuda":
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return torch.bfloat16, "bfloat16: half the memory traffic, and this GPU computes in it."
        return torch.float16, "float16: half the memory traffic, and this GPU is too old for bfloat16."
    if device.type == "mps":
        return torch.float16, "float16: half the memory traffic on a Mac's GPU."
    if _cpu_has_bfloat16():
        return torch.bfloat16, "bfloat16: half the memory traffic, and this processor computes in it."
    return torch.float32, "float32: this processor is not known to compute in bfloat16."


def _cpu_has_bfloat16() -> bool:
    """Whether bfloat16 products run on instructions of their own; elsewhere they are emulated and slower."""
    able = getattr(torch.cpu, "get_capabilities", dict)()  # an older torch does not tell
    return bool(able.get("avx512_bf16") or able.get("amx_bf16") or able.get("bf16"))
