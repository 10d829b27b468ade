"""Probabilities as text: enough digits to compute with, and never a number that says more or less than it is."""

from collections.abc import Callable

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN = {written: chr(plain) for plain, written in _SUPERSCRIPT.items()}

#: Below the one and from the other on a number is written with a power of ten.
_TINY, _HUGE = 1e-4, 1e4

#: As many digits as a float can have.
_ALL = 17

#: Of a sum of masses in float64.
_ROUNDING = 1e-12


def show(x: float, digits: int = 4) -> str:
    """x ≥ 0 with `digits` significant digits, more where it would else round to 1 without being 1.

    0.41 -> "0.4100", 0.99996 -> "0.99996", 0.0000312 -> "3.120×10⁻⁵"; "0" and "1" only where that is exact.
    """
    if x in (0, 1):
        return f"{x:.0f}"
    if not _TINY <= x < _HUGE:
        mantissa, exponent = f"{x:.{digits - 1}e}".split("e")
        return f"{mantissa}×10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    text = f"{x:#.{digits}g}".rstrip(".")
    if "e" in text:  # fewer digits than stand before the point
        return f"{float(text):.0f}"
    return text if float(text) != 1 or digits >= _ALL else show(x, digits + 1)


def brief(x: float, digits: int = 4) -> str:
    """As `show`, without the zeros at the end: 0.5 -> "0.5"."""
    text = show(x, digits)
    return text.rstrip("0").rstrip(".") if "." in text and "×" not in text else text


def placed(mass: float) -> str:
    """A mass between 0 and 1 to four places: what is to be added up must not be rounded by its own size.

    0.2625 -> "0.2625", 1/3 -> "0.3333"; only what four places would make nothing, or all, has more.
    """
    if mass in (0, 1):
        return f"{mass:.0f}"
    text = f"{mass:.4f}"
    if float(text) in (0, 1):
        return show(mass, 1) if mass < 0.5 else brief(mass)
    return text.rstrip("0")


def tidy(mass: float) -> float:
    """A mass that misses 0 or 1 only by the rounding of a sum is just that."""
    return next((whole for whole in (0.0, 1.0) if abs(mass - whole) <= _ROUNDING), mass)


def rounded(x: float, digits: int = 4) -> float:
    """The number that `show` writes: what a reader computes with."""
    mantissa, _, exponent = show(x, digits).partition("×10")
    return float(f"{mantissa}e{exponent.translate(_PLAIN) or 0}")


def sign(redone: float, exact: float, digits: int = 4) -> str:
    """= where what a reader gets from the rounded numbers is shown as the exact result is, else ≈."""
    return "=" if show(redone, digits) == show(exact, digits) else "≈"


def digits_for(holds: Callable[[int], bool]) -> int:
    """The fewest digits, at least 4, with which the numbers as shown tell the truth; all of them if none does."""
    return next((digits for digits in range(4, _ALL) if holds(digits)), _ALL)


def comparable(a: float, b: float) -> tuple[str, str]:
    """a and b with as many digits as it takes to see which is larger."""
    digits = digits_for(lambda n: (rounded(a, n) < rounded(b, n)) == (a < b) and (show(a, n) == show(b, n)) == (a == b))
    return show(a, digits), show(b, digits)
