"""How many draws it takes until the χ² test finds a wrong law out, measured on samples of that law."""

from functools import cache

import numpy as np
import torch

from ..fit import pooled, upper_tail

#: A right rule is accused with probability LEVEL; a wrong one is to be found out with probability POWER.
LEVEL, POWER = 0.01, 0.9

#: Samples from which that probability is measured, within about 0.01; and more draws than anybody would wait for.
_SAMPLES, _MOST = 1000, 2**26


def draws_needed(law: torch.Tensor, p: torch.Tensor) -> int | None:
    """The fewest draws from `law` (V,) that speak against p (V,), by `LEVEL` and `POWER`; None: far too many."""
    if power(_MOST, law, p) < POWER:
        return None
    enough = 1
    while power(enough, law, p) < POWER:
        enough *= 2
    low, high = enough // 2, enough
    while high - low > max(1, low // 200):
        middle = (low + high) // 2
        low, high = (low, middle) if power(middle, law, p) >= POWER else (middle, high)
    return high


def power(n: int, law: torch.Tensor, p: torch.Tensor) -> float:
    """The share of samples of n draws from `law` (V,) whose p-value by `fit.fit` against p (V,) is below `LEVEL`."""
    samples = np.random.default_rng(0).multinomial(n, (law / law.sum()).numpy(), size=_SAMPLES)
    counts = torch.from_numpy(samples.T).double()  # (V, samples)
    impossible = counts[p == 0].sum(0) > 0
    observed, expected = pooled(counts, n * p)
    chi2 = ((observed - expected[:, None]) ** 2 / expected[:, None]).sum(0)
    return ((chi2 > _critical(len(expected) - 1)) | impossible).double().mean().item()


@cache
def _critical(freedom: int) -> float:
    """The χ² that a right law exceeds with probability `LEVEL`, by halving."""
    low, high = 0.0, 100.0 + 10 * freedom
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_tail(torch.tensor(middle), freedom) > LEVEL else (low, middle)
    return high
