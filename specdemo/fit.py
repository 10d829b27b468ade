"""Does a sample follow a law? χ² with its p-value, and the total variation beside what chance alone would give."""

from typing import NamedTuple

import torch

#: Draws that a cell must be expected to hold; rarer outcomes share one cell, or χ² would not follow its table.
LEAST_EXPECTED = 10


_REACH = 1.959964  # standard errors that hold 95 % of a normal law


def interval(count: int, n: int) -> tuple[float, float]:
    """The probabilities that fit `count` of `n` draws, 95 % of the time: Wilson's score interval (Wilson 1927).

    It stays within 0 and 1, and is no point where none or all of the draws are meant.
    """
    spread = _REACH**2 / n
    share = count / n
    middle = (share + spread / 2) / (1 + spread)
    half = (share * (1 - share) * spread + spread**2 / 4) ** 0.5 / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


class Fit(NamedTuple):
    """How well `n` draws fit a law.

    chi2, cells         Pearson's χ² over so many cells; its degrees of freedom are one fewer
    p_value             the probability of a χ² at least this large if the law is right
    distance            total variation between the draws and the law, ½ Σ |share − probability|
    expected_distance   what that would be on average if the law is right
    impossible          draws of what has probability 0; the p-value is then 0 too

    With one cell there is no test, unless something impossible was drawn: the p-value of 1 says nothing.
    """

    n: int
    chi2: float
    cells: int
    p_value: float
    distance: float
    expected_distance: float
    impossible: int

    @property
    def tested(self) -> bool:
        return self.cells > 1 or self.impossible > 0

    @property
    def certain(self) -> bool:
        """Whether the law leaves nothing to chance."""
        return self.expected_distance == 0


def fit(counts: torch.Tensor, law: torch.Tensor) -> Fit:
    """How well the counts (C,) of draws fit the probabilities (C,) of all that can be drawn."""
    counts, law = counts.double().cpu(), law.double().cpu().clamp(0, 1)
    assert counts.shape == law.shape and abs(law.sum() - 1) < 1e-3, (counts.shape, law.shape, law.sum())
    n = counts.sum()
    impossible = int(counts[law == 0].sum())
    observed, expected = pooled(counts, n * law)
    chi2 = ((observed - expected) ** 2 / expected).sum()
    return Fit(
        n=int(n),
        chi2=torch.inf if impossible else chi2.item(),
        cells=len(expected),
        p_value=0.0 if impossible else upper_tail(chi2, len(expected) - 1),
        distance=(counts / n - law).abs().sum().item() / 2,
        expected_distance=_mean_absolute_deviation(n, law).sum().item() / (2 * n.item()),
        impossible=impossible,
    )


def pooled(observed: torch.Tensor, expected: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The cells that are large enough, and one for all others together where that is large enough too.

    observed (C, …), expected (C,); few cells (c, …), (c,). Which ones depends on what is expected alone.
    """
    order = expected.argsort(descending=True)
    observed, expected = observed[order], expected[order]
    left = expected.flip(0).cumsum(0).flip(0)  # expected from here on
    alone = int((expected >= LEAST_EXPECTED).sum())
    if alone == len(expected) or left[alone] < LEAST_EXPECTED:
        alone = max(0, alone - 1)  # the others are too few for a cell of their own: the last one takes them in
    return (torch.cat([cells[:alone], cells[alone:].sum(0, keepdim=True)]) for cells in (observed, expected))


def upper_tail(chi2: torch.Tensor, freedom: int) -> float:
    """P(χ² ≥ chi2), the regularised incomplete gamma function."""
    return torch.special.gammaincc(torch.tensor(freedom / 2).double(), chi2 / 2).item() if freedom else 1.0


def _mean_absolute_deviation(n: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """E|X − np| of X ~ binomial(n, p), exactly (De Moivre 1730): 2ν·C(n, ν)·p^ν·(1 − p)^(n − ν + 1), ν = ⌊np⌋ + 1."""
    v = (n * p).floor() + 1
    choose = torch.lgamma(n + 1) - torch.lgamma(v + 1) - torch.lgamma(n - v + 1)
    return 2 * v * (choose + torch.xlogy(v, p) + torch.special.xlog1py(n - v + 1, -p)).exp()
