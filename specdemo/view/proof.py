"""What a check has found, so far or for good: a figure, a table of tests, and sentences."""

from collections.abc import Mapping, Sequence

from ..check import EXACT, FALSE_ALARM, ROUNDING, Comparison, Contrast, Exact, Verdict
from ..fit import Fit
from ..palette import ThemeName
from ..words import ENGLISH, Words
from .figure import Figure
from .numbers import show
from .shares import Sample, shares_figure
from .spelling import literal, name

Ids = tuple[int, ...]

#: p-values from the one on say nothing, and below the other are beyond chance.
_UNREMARKABLE, _TINY = 0.05, FALSE_ALARM


def comparison_figure(
    one: Comparison, texts: Mapping[Ids, str], theme: ThemeName = "light", words: Words = ENGLISH
) -> Figure:
    """The likeliest beginnings of a length: their exact probabilities, and how often either lane wrote them."""
    n = one.engine.n
    lanes = [(words["proof_engine"], [cell.engine for cell in one.cells])]
    if one.alone:
        lanes.append((words["proof_alone"], [cell.alone for cell in one.cells]))
    law = [cell.p for cell in one.cells]
    rows = [literal(name(texts.get(cell.ids, ""), cell.ids[-1])) for cell in one.cells]
    if (rest := 1 - sum(law)) > 1 / n:
        law, rows = [*law, rest], [*rows, literal(words["everything_else"])]
        lanes = [(label, [*counts, n - sum(counts)]) for label, counts in lanes]
    key = "proof_figure_one" if one.length == 1 else "proof_figure"
    heading = words.say(key, length=one.length), words.say("proof_figure_how", n=f"{n:,}")
    samples = [Sample(label, counts, n) for label, counts in lanes]
    return shares_figure(heading, rows, law, words["proof_law"], samples, theme)


def tests(verdict: Verdict, words: Words = ENGLISH) -> list[dict[str, object]]:
    """A row for each length and lane: who wrote what, χ², its p-value, the distance and what chance makes of it."""
    rows = []
    for one in verdict.comparisons:
        key = "proof_tokens_one" if one.length == 1 else "proof_tokens"
        for who, fit in (("proof_engine", one.engine), ("proof_alone", one.alone)):
            if fit is not None:
                what = words.say(key, length=one.length)
                rows.append({"length": one.length, "who": words[who], "what": what, **_numbers(fit, words)})
    return rows


def _numbers(fit: Fit, words: Words) -> dict[str, str]:
    chi2 = "∞" if fit.impossible else f"{fit.chi2:.1f}"
    return {
        "chi2": words.say("proof_chi2", chi2=chi2, cells=fit.cells) if fit.tested else "–",
        "p_value": _p_value(fit.p_value) if fit.tested else "–" if fit.certain else words["proof_untested"],
        "distance": words.say("proof_distance", distance=f"{fit.distance:.4f}", chance=f"{fit.expected_distance:.4f}"),
    }


def _p_value(p: float) -> str:
    return show(p, 2) if p >= 1e-300 else "0"


def contrast_figure(
    one: Contrast, texts: Mapping[Ids, str], theme: ThemeName = "light", words: Words = ENGLISH
) -> Figure:
    """What a wrong rule makes of the first position, over its exact p."""
    rows = [literal(name(texts.get((token_id,), ""), token_id)) for token_id in one.ids]
    rows += [literal(words["everything_else"])] * (len(one.p) - len(rows))
    rule = words.say("proof_by", rule=words[f"lab_rule_{one.rule}"])
    heading = rule, words.say("proof_by_how", n=f"{one.fit.n:,}")
    return shares_figure(heading, rows, one.p, words["proof_law"], [Sample(rule, one.counts, one.fit.n)], theme)


def contrast_rows(verdict: Verdict, words: Words = ENGLISH) -> list[dict[str, str]]:
    """A row for each wrong rule: its name, how far its exact law is from p, and what the test says of its draws."""
    return [
        {
            "rule": one.rule,
            "name": words[f"lab_rule_{one.rule}"],
            "exactly": f"{one.distance:.4f}",
            **_numbers(one.fit, words),
        }
        for one in verdict.contrasts
    ]


def conclusions(verdict: Verdict, asked: int, words: Words = ENGLISH) -> list[dict[str, str]]:
    """Lines {"label", "text"}: what was found exactly, what by sampling, and what that means and does not."""
    lines = [_entry(words, "proof_exact", _exact(verdict.exact, words))] if verdict.exact.positions else []
    if verdict.comparisons:
        first = verdict.comparisons[0].engine
        lines += [
            _entry(words, "proof_sampled", _sampled(verdict, asked, words)),
            _entry(words, "proof_means", _meaning([one.engine for one in verdict.comparisons], words)),
            _entry(words, "proof_means_not", words.say("proof_not", distance=f"{first.expected_distance:.3f}")),
            _entry(words, "proof_against", words["proof_evidence"]),
        ]
    return [*lines, _entry(words, "proof_through", words["proof_whole"])]


def _entry(words: Words, key: str, text: str) -> dict[str, str]:
    return {"label": words[key], "text": text}


def _exact(exact: Exact, words: Words) -> str:
    key = "proof_exact_holds" if exact.holds else "proof_exact_fails"
    return words.say(
        key,
        positions=exact.positions,
        error=show(exact.error, 1),
        rounding=show(exact.rounding, 1),
        allowed=show(EXACT, 1),
        allowed_rounding=show(ROUNDING, 1),
        miscast=exact.miscast,
    )


def _sampled(verdict: Verdict, asked: int, words: Words) -> str:
    kept = words.say(
        "proof_kept",
        runs=f"{verdict.runs:,}",
        kept=f"{100 * verdict.kept:.1f}",
        alpha=f"{100 * verdict.alpha:.1f}",
    )
    return kept if verdict.runs == asked else f"{kept} {words.say('proof_early', runs=f'{verdict.runs:,}')}"


def _meaning(fits: Sequence[Fit], words: Words) -> str:
    """Of the worst of the tests."""
    if impossible := sum(fit.impossible for fit in fits):
        return words.say("proof_impossible", count=f"{impossible:,}")
    if all(fit.certain for fit in fits):
        return words["proof_certain"]
    tested = [fit.p_value for fit in fits if fit.tested]
    if not tested:
        return words["proof_too_few"]
    p = min(tested)
    values = {"p": _p_value(p), "n": len(tested)}
    if p >= _UNREMARKABLE:
        return words.say("proof_fits", **values)
    if p >= _TINY:
        return words.say("proof_low", **values)
    return words.say("proof_beyond", **values)
