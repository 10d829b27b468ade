"""What the page may ask of the lab: a function a question, each safe against whatever a browser may send."""

from ..fit import Fit, fit
from ..lab.detection import LEVEL, draws_needed
from ..lab.draws import draws
from ..lab.laws import Laws, distance, laws
from ..lab.rules import LOSSLESS, RULES
from ..lab.setting import Setting, draw_count, normalised, seed_of, setting
from ..view.flow import Part, flow_figure
from ..view.histogram import histogram_figure
from ..view.numbers import brief, placed, tidy
from ..view.telling import coin_of, steps
from ..words import Saying, everywhere
from .asking import Answer, Question, theme_of, told, words_of

#: What is less is rounding.
_NOTHING = 1e-12


@told
def show(question: Question) -> Answer:
    """All masses of a rule, and their picture."""
    here = setting(question)
    masses = laws(here.rule, here.p, here.q)
    return {
        "rows": [
            {part: placed(tidy(value)) for part, value in zip(Laws._fields, row)}
            for row in zip(*(row.tolist() for row in masses))
        ],
        "alpha": placed(tidy(masses.kept.sum().item())),
        "refused_mass": placed(tidy(masses.refused.sum().item())),
        "wrong": ((masses.law - here.p).abs() > _NOTHING).tolist(),
        "figure": _flow(here, masses, question),
    }


@told
def compare(question: Question) -> Answer:
    """Every rule's exact law, how far it is from p, and after how many draws that shows."""
    here = setting(question)
    return {"rules": {name: _found_out(laws(rule, here.p, here.q), here) for name, rule in RULES.items()}}


def _found_out(masses: Laws, here: Setting) -> Answer:
    far = tidy(distance(masses.law, here.p))
    needed = draws_needed(masses.law, here.p) if far else None
    return {
        "law": [brief(tidy(x), 3) for x in masses.law.tolist()],
        "distance": brief(far, 3),
        "draws": None if needed is None else f"{needed:,}",
    }


@told
def draw_one(question: Question) -> Answer:
    """One round, step by step, each with its picture."""
    here, seed = setting(question), seed_of(question)
    masses = laws(here.rule, here.p, here.q)
    round_ = draws(here.rule, here.p, here.q, 1, seed)
    theme, words = theme_of(question), words_of(question)
    return {
        "seed": seed,
        "steps": [
            {"said": everywhere(step.said), "figure": _flow(here, masses, question, step.lit)}
            for step in steps(here.tokens, here.rule, here.p, here.q, masses, round_)
        ],
        "coin": coin_of(here.tokens, here.rule, here.p, here.q, round_, theme, words),
    }


@told
def draw_many(question: Question) -> Answer:
    """n rounds against p: the histogram and what the test says."""
    here, n, seed = setting(question), draw_count(question), seed_of(question)
    counts = draws(here.rule, here.p, here.q, n, seed).counts(len(here.tokens))
    found = fit(counts, here.p)
    lossless = here.rule_name == LOSSLESS
    law = None if lossless else laws(here.rule, here.p, here.q).law.tolist()
    theme, words = theme_of(question), words_of(question)
    return {
        "seed": seed,
        "said": [everywhere(saying) for saying in _verdict(found, lossless)],
        "exposed": found.p_value < LEVEL,
        "figure": histogram_figure(here.tokens, counts.tolist(), here.p.tolist(), law, seed, theme, words),
    }


def _verdict(found: Fit, lossless: bool) -> list[Saying]:
    """What was measured, what the test makes of it, and what that means."""
    n = f"{found.n:,}"
    measured = Saying(
        "lab_measured", n=n, distance=brief(found.distance, 3), expected=brief(found.expected_distance, 3)
    )
    if found.impossible:
        return [measured, Saying("lab_impossible", count=f"{found.impossible:,}")]
    if found.cells == 1:
        return [measured, Saying("lab_too_few")]
    p_value = brief(found.p_value, 3) if found.p_value > 1e-12 else "< 10⁻¹²"
    tested = Saying("lab_tested", chi2=brief(found.chi2, 3), freedom=found.cells - 1, p_value=p_value)
    if found.p_value >= LEVEL:
        return [measured, tested, Saying("lab_reads_well", p_value=p_value)]
    return [measured, tested, Saying("lab_reads_by_chance" if lossless else "lab_reads_badly", p_value=p_value)]


@told
def normalise(question: Question) -> Answer:
    """The values of a side as a distribution."""
    return {"values": normalised(question.get("values"))}


def _flow(here: Setting, masses: Laws, question: Question, lit: tuple[Part, ...] | None = None) -> dict[str, object]:
    theme, words = theme_of(question), words_of(question)
    return flow_figure(here.tokens, here.p, masses, here.rule_name != LOSSLESS, theme, words, lit)
