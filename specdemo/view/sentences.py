"""The arithmetic of one token in words and numbers, to be done again with a calculator."""

from ..records import Outcome, TokenEvent
from ..words import ENGLISH, Words
from .numbers import digits_for, rounded, show, sign
from .position import left_over, residual, rows

Line = dict[str, str]


def sentences(event: TokenEvent, words: Words = ENGLISH, moved: bool = False) -> list[Line]:
    """Lines {"label", "text"}, plain texts: why this token is what it is; `moved`: its coin was moved by hand.

    An equation has = where the rounded numbers in it give the rounded result, and ≈ where they miss its last digit.
    """
    match event.outcome:
        case Outcome.ACCEPTED | Outcome.REJECTED:
            lines = [_ratio(event, words), _coin(event, words, moved), _verdict(event, words), _alpha(event, words)]
        case Outcome.RESAMPLED:
            lines = [_why(event, words), _alpha(event, words), *_drawn_again(event, words)]
        case Outcome.DISCARDED:
            lines = [_why(event, words), _ratio(event, words), _alpha(event, words)]
        case Outcome.BONUS | Outcome.PLAIN:
            lines = [_why(event, words), _line(words, "alone", p=show(event.p))]
    return lines


def _line(words: Words, key: str, **values: str) -> Line:
    return {"label": words[f"{key}_label"], "text": words[key].format(**values)}


def _why(event: TokenEvent, words: Words) -> Line:
    """A token that no coin decided about."""
    return {"label": words["why_label"], "text": words[f"why_{event.outcome}"]}


def _ratio(event: TokenEvent, words: Words) -> Line:
    p, q = event.p, event.q
    if not q:
        return _line(words, "no_ratio", p=show(p))
    redone = rounded(p) / rounded(q)
    key = "ratio" if event.u is not None else "ratio_unjudged"
    return _line(
        words, key, p=show(p), q=show(q), sign=sign(redone, p / q), ratio=show(p / q), chance=show(min(1.0, p / q))
    )


def _coin(event: TokenEvent, words: Words, moved: bool) -> Line:
    return _line(words, "u_moved" if moved else "u", u=show(event.u))


def _verdict(event: TokenEvent, words: Words) -> Line:
    """u·q against p, with as many digits as it takes for a calculator to come to the same verdict."""
    p, q, u = event.p, event.q, event.u
    kept = u * q < p

    def same(n: int) -> bool:
        return (rounded(u, n) * rounded(q, n) < rounded(p, n)) == kept == (rounded(u * q, n) < rounded(p, n))

    n = digits_for(same)
    redone = rounded(u, n) * rounded(q, n)
    return _line(
        words,
        "verdict",
        u=show(u, n),
        q=show(q, n),
        sign=sign(redone, u * q, n),
        product=show(u * q, n),
        relation="<" if kept else "≥",
        p=show(p, n),
        outcome=words[event.outcome],
    )


def _alpha(event: TokenEvent, words: Words) -> Line:
    """α term by term, as far as the rows go; what all other tokens share is the last term."""
    shared = [(row.shared, row.token_id is None) for row in rows(event) if row.shared]
    if not shared:
        return _line(words, "alpha_none")
    terms = [show(x) + words["others"] * others for x, others in shared]
    redone = sum(rounded(x) for x, _ in shared)
    alpha = event.alpha
    return _line(
        words,
        "alpha_sum",
        terms=" + ".join(terms),
        sign=sign(redone, alpha),
        alpha=show(alpha),
        refused=show(max(0.0, 1 - alpha)),
    )


def _drawn_again(event: TokenEvent, words: Words) -> list[Line]:
    """The token's share of the residual, and that with its share as a draft it comes to p: nothing is lost."""
    here = rows(event)
    own = next(i for i, row in enumerate(here) if row.mine)
    share, left, gap, kept = residual(event, here)[own], left_over(event, here), here[own].gap, here[own].shared
    p, q = event.p, event.q
    redone = rounded(gap) / rounded(left) if left else share
    return [
        _line(
            words,
            "share",
            p=show(p),
            q=show(q),
            left=show(left),
            gap=show(gap),
            sign=sign(redone, share),
            gap_sign=sign(max(0.0, rounded(p) - rounded(q)), gap),
            share=show(share),
        ),
        _line(
            words,
            "lossless",
            kept=show(kept),
            left=show(left),
            share=show(share),
            sign=sign(rounded(kept) + rounded(left) * rounded(share), p),
            p=show(p),
        ),
    ]
