"""On what a pair runs, and in which numbers."""

import torch

from ..words import Saying
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
        raise LoadError("device_missing", name=repr(name)) from error
    return device


def choose_dtype(name: str, device: torch.device) -> tuple[torch.dtype, Saying]:
    """`name`, or for "auto" the fastest that loses nothing that matters; and a sentence that says why.

    Raises LoadError for a name that is not known, or not possible on the device.
    """
    if name == FOUR_BIT:
        if device.type != "cpu":
            raise LoadError("dtype_cpu_only", name=repr(name), device=device)
        return DTYPES[name], Saying("dtype_int4")
    if name in DTYPES:
        return DTYPES[name], Saying("dtype_asked", name=name)
    if name != "auto":
        raise LoadError("dtype_unknown", name=repr(name), names=", ".join(DTYPES))
    if device.type == "cuda":
        if torch.cuda.is_bf16_supported(including_emulation=False):
            return torch.bfloat16, Saying("dtype_bf16_gpu")
        return torch.float16, Saying("dtype_fp16_gpu")
    if device.type == "mps":
        return torch.float16, Saying("dtype_fp16_mac")
    if _cpu_has_bfloat16():
        return torch.bfloat16, Saying("dtype_bf16_cpu")
    return torch.float32, Saying("dtype_fp32_cpu")


def _cpu_has_bfloat16() -> bool:
    """Whether bfloat16 products run on instructions of their own; elsewhere they are emulated and slower."""
    able = getattr(torch.cpu, "get_capabilities", dict)()  # an older torch does not tell
    return bool(able.get("avx512_bf16") or able.get("amx_bf16") or able.get("bf16"))


def multiplies_four_bits(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether torch has a quick product of weights in 4 bits with activations of `dtype` there."""
    quick = torch.backends.cpu.get_cpu_capability().startswith("AVX")  # elsewhere it is a plain loop
    return device.type == "cpu" and dtype == torch.bfloat16 and quick
