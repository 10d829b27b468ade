"""Is it lossless? As a measurement for the page."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from ..check import Check, Verdict
from ..models import Pair
from ..palette import ThemeName
from ..text import continuation
from ..view.proof import comparison_figure, conclusions, contrast_figure, contrast_rows, tests
from ..words import Refusal, Words
from .asking import Question
from .measurements import Plan
from .place import Work
from .request import Request, count_of, shown

#: Runs of the engine that a page may ask for.
MOST_RUNS = 20_000

_LOOK_S = 0.3  # between two looks at what was found: each takes some milliseconds from the runs


@dataclass(frozen=True, slots=True)
class Proof:
    """What a check has found so far, of `asked` runs, with the texts of the beginnings that it names."""

    verdict: Verdict
    asked: int
    texts: Mapping[tuple[int, ...], str]

    @property
    def progress(self) -> dict[str, object]:
        return {"positions": self.verdict.exact.positions, "runs": self.verdict.runs, "asked": self.asked}


def plan(request: Request, question: Question) -> Plan:
    """`question["runs"]` of the engine, at most `MOST_RUNS`. Raises ValueError."""
    if request.k is None:
        raise Refusal("proof_auto")
    if request.k < 1:
        raise Refusal("proof_no_drafts", k=request.k)
    asked = question.get("runs")
    wanted = count_of(asked)
    if wanted is None:
        raise Refusal("proof_bad_runs", runs=shown(asked), most=f"{MOST_RUNS:,}")
    runs = min(wanted, MOST_RUNS)
    head = {
        **request.told(),
        "k": request.k,
        "runs": runs,
        "asked": min(wanted, 10**12),
        "clamped": wanted > runs,
    }
    # The engine and the target alone, each of whose runs is a round or a few.
    return Plan(head, Work(request.pair, partial(_proofs, request, runs), 2 * runs * (request.k + 1), patient=True))


def _proofs(request: Request, runs: int, pair: Pair) -> Iterator[Proof | None]:
    ids = pair.encode(request.prompt, request.chat and pair.has_chat)
    target = pair.open_target()
    draft = pair.open_draft(target)
    check = Check(target, draft, ids, request.params, k=request.k, samples=runs, reads_target=pair.draft.reads_target)
    due = time.monotonic()
    for _ in check.steps():
        if time.monotonic() < due:
            yield None
        else:
            yield _proof(check, pair, ids)
            due = time.monotonic() + _LOOK_S
    yield _proof(check, pair, ids)


def _proof(check: Check, pair: Pair, prompt_ids: list[int]) -> Proof:
    verdict = check.verdict()
    named = {cell.ids for one in verdict.comparisons for cell in one.cells}
    return Proof(verdict, check.samples, {ids: continuation(pair.decode, prompt_ids, ids) for ids in named})


def show(found: Proof, question: Question, theme: ThemeName, words: Words) -> dict[str, object]:
    """The histogram that `question["choice"]` names by its length or its rule, the tests and the sentences."""
    verdict = found.verdict
    lengths = {str(one.length): one for one in verdict.comparisons}
    rules = {one.rule: one for one in verdict.contrasts}
    choice = question.get("choice")
    choice = choice if isinstance(choice, str) and choice in {**lengths, **rules} else "1"
    figure = None
    if lengths and choice in rules:
        figure = contrast_figure(rules[choice], found.texts, theme, words)
    elif lengths:
        figure = comparison_figure(lengths[choice], found.texts, theme, words)
    return {
        "choice": choice,
        "figure": figure,
        "tests": tests(verdict, words),
        "rules": contrast_rows(verdict, words) if lengths else [],
        "lines": conclusions(verdict, found.asked, words),
    }
