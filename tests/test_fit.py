"""χ² against its printed table, total variation against enumeration, and both against samples of the law."""

from math import comb, inf

import pytest
import torch

from specdemo.fit import LEAST_EXPECTED, fit


@pytest.mark.parametrize(
    ("chi2", "cells", "p_value"),
    [(3.841458820694124, 2, 0.05), (18.30703805327515, 11, 0.05), (29.58829844507442, 11, 0.001)],
)
def test_p_values_of_the_printed_table(chi2: float, cells: int, p_value: float) -> None:
    """Two of the cells are moved by so much that χ² is the table's."""
    n = 1e6
    law = torch.full((cells,), 1 / cells, dtype=torch.float64)
    counts = n * law
    move = (chi2 * n / cells / 2) ** 0.5
    counts[0] += move
    counts[1] -= move
    result = fit(counts, law)
    assert result.chi2 == pytest.approx(chi2) and result.cells == cells
    assert result.p_value == pytest.approx(p_value, rel=1e-9)


def test_expected_distance_is_the_mean_over_all_samples() -> None:
    n, p = 7, 0.3
    exact = sum(comb(n, i) * p**i * (1 - p) ** (n - i) * abs(i / n - p) for i in range(n + 1))
    result = fit(torch.tensor([3, 4]), torch.tensor([p, 1 - p], dtype=torch.float64))
    assert result.expected_distance == pytest.approx(exact, rel=1e-12)
    assert result.distance == pytest.approx(3 / 7 - 0.3)


def test_a_certain_law() -> None:
    assert fit(torch.tensor([0, 50, 0]), torch.tensor([0.0, 1, 0])) == (50, 0, 1, 1.0, 0, 0, 0)
    wrong = fit(torch.tensor([1, 49, 0]), torch.tensor([0.0, 1, 0]))
    assert (wrong.p_value, wrong.impossible, wrong.chi2) == (0, 1, inf)


def test_rare_outcomes_share_a_cell() -> None:
    law = torch.tensor([0.5, 0.4, *[0.1 / 1000] * 1000], dtype=torch.float64)
    result = fit(1000 * law, law)
    assert result.cells == 3 and result.chi2 == pytest.approx(0, abs=1e-12)
    few = torch.tensor([0.6, 0.399, 0.001], dtype=torch.float64)  # the last would be expected once only
    assert fit(1000 * few, few).cells == 2
    assert fit(torch.tensor([1, 1]), torch.tensor([0.5, 0.5])).cells == 1


def test_right_samples_pass_and_wrong_ones_fail() -> None:
    """2,000 samples of 500 draws, seeded. Under the law the p-values are uniform and the distances average to what is
    foretold: |share below .05 − .05| < .02 is 4 standard errors, the mean distance within 2 % is 7 (so a false alarm
    has odds below 1 in 10,000, and none at all with this seed). A law that is 0.1 off fails nearly always."""
    law = torch.softmax(torch.linspace(0, 3, 20, dtype=torch.float64), 0)
    assert 500 * law.min() < LEAST_EXPECTED  # so the pooling takes part
    draws = torch.multinomial(law.expand(2000, -1), 500, True, generator=torch.Generator().manual_seed(3))
    fits = [fit(torch.bincount(row, minlength=20), law) for row in draws]
    p_values = torch.tensor([result.p_value for result in fits])
    assert abs((p_values < 0.05).double().mean() - 0.05) < 0.02
    assert abs((p_values < 0.5).double().mean() - 0.5) < 0.05
    distance = torch.tensor([result.distance for result in fits]).mean().item()
    assert distance == pytest.approx(fits[0].expected_distance, rel=0.02)
    wrong = law.roll(1)
    assert sum(fit(torch.bincount(row, minlength=20), wrong).p_value < 1e-6 for row in draws[:100]) > 95
