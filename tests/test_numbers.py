"""Numbers as text: near enough, and never a false 0 or 1."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdemo.view.numbers import comparable, placed, rounded, show, sign, tidy

LIKELIHOODS = st.one_of(
    st.floats(0, 1), st.floats(5e-324, 1e-6), st.floats(0, 60).map(lambda x: 1 - 2**-x), st.floats(1, 1e12)
)


@pytest.mark.parametrize(
    ("x", "digits", "text"),
    [
        (0.41, 4, "0.4100"),
        (0.04123, 4, "0.04123"),
        (0.000312, 3, "0.000312"),
        (0.0000312, 4, "3.120×10⁻⁵"),
        (0.0, 4, "0"),
        (1.0, 4, "1"),
        (0.99996, 4, "0.99996"),
        (0.5, 1, "0.5"),
        (12.5, 4, "12.50"),
        (1714.0, 4, "1714"),
        (1714.0, 2, "1700"),
        (98765432.1, 4, "9.877×10⁷"),
    ],
)
def test_show(x, digits, text):
    assert show(x, digits) == text


@given(LIKELIHOODS, st.integers(2, 8))
def test_what_is_shown_is_near_and_neither_nothing_nor_all(x, digits):
    text = show(x, digits)
    assert re.fullmatch(r"\d+(\.\d+)?(×10⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)?", text)
    assert math.isclose(rounded(x, digits), x, rel_tol=0.5001 * 10 ** (1 - digits), abs_tol=5e-324)
    assert (text == "0") == (x == 0)
    assert (rounded(x, digits) == 1) == (x == 1)


@given(LIKELIHOODS, LIKELIHOODS)
def test_two_numbers_are_told_apart(a, b):
    one, other = comparable(a, b)
    assert (one == other) == (a == b)


@given(st.floats(1e-6, 2), st.integers(1, 40))
def test_neighbours_are_told_apart(a, steps):
    b = a
    for _ in range(steps):
        b = math.nextafter(b, 3)
    assert len(set(comparable(a, b))) == 2


def test_sign():
    assert sign(0.30004, 0.3, 4) == "="
    assert sign(0.3001, 0.3, 4) == "≈"


@pytest.mark.parametrize(
    ("x", "text"),
    [(0, "0"), (1, "1"), (0.5, "0.5"), (0.2625, "0.2625"), (1 / 3, "0.3333"), (0.9999, "0.9999"), (0.0875, "0.0875")]
    + [(4.673e-5, "5×10⁻⁵"), (0.0001338, "0.0001"), (0.99996, "0.99996"), (0.1 + 0.2, "0.3")],
)
def test_a_mass_is_shown_to_four_places_and_never_as_none_or_all(x, text):
    assert placed(x) == text


@given(st.floats(0, 1), st.floats(0, 1))
def test_masses_as_shown_add_up(a, b):
    a, b = a / 2, b / 2
    shown = [float(text) for text in map(placed, (a, b, a + b)) if "×" not in text]
    assert len(shown) < 3 or shown[0] + shown[1] == pytest.approx(shown[2], abs=1.6e-4)


def test_only_rounding_is_tidied():
    assert [tidy(x) for x in (1 + 2e-16, 1 - 3e-16, 1e-17, 0.3, 1e-9, 1 - 1e-9)] == [1, 1, 0, 0.3, 1e-9, 1 - 1e-9]
