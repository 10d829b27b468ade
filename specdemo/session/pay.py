"""Does it pay? The formulas with a run's own numbers, and a sweep over K as a measurement for the page."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from ..models import Pair
from ..palette import ThemeName
from ..pay import Costs, Economy, Swept, economy, swept, swept_costs
from ..records import RunStats, is_real
from ..sweep import sweep
from ..view.economy import Source, account, positions_figure, speedup_figure, sweep_rows
from ..view.numbers import show as number
from ..words import Refusal, Saying, Words
from .asking import Question, theme_of, words_of
from .measurements import Measurements, Plan
from .place import Work
from .request import Request, count_of, shown
from .session import Session

#: What a sweep measures: every K at which the curve bends, and as many turns and tokens as a page may ask for.
KS = (1, 2, 3, 4, 6, 8)
MOST_TURNS, MOST_LENGTH = 9, 256

#: What the curves show where no run says anything.
_ALPHA, _C = 0.6, 0.2

_DEAREST = 2.0  # c that can be asked for


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep has found so far, of `asked` runs."""

    points: tuple[Swept, ...]
    runs: int
    asked: int

    @property
    def progress(self) -> dict[str, object]:
        return {"runs": self.runs, "asked": self.asked}


class Pay:
    """What the tab may ask."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.sweeps = Measurements(session, plan, show)

    def answer(self, question: Question) -> dict[str, object]:
        """The figures of the run `run`, with what the sweep `sweep` measured and with `alpha` and `c` as set.

        `rows` are None for a sweep that is not known here: a page keeps those that it has.
        """
        theme, words = theme_of(question), words_of(question)
        run, sweep = question.get("run"), question.get("sweep")
        lanes = self._session.lanes(run)
        found = economy(lanes["spec"], lanes["plain"]) if lanes else None
        measured = self.sweeps.found(sweep)
        points = measured.points if measured else ()
        source, own_alpha, costs = _source(found, points)
        own = (own_alpha, costs.c)
        alpha = _between(question.get("alpha"), 1.0, own[0])
        c = _between(question.get("c"), _DEAREST, own[1])
        best = costs.best_k(alpha, c)
        gain = costs.speedup(alpha, best, c)
        return {
            "alpha": own[0],
            "c": own[1],
            "speedup": speedup_figure(found, points, source, own_alpha, costs, alpha, c, theme, words),
            "positions": positions_figure(found, theme, words) if found else None,
            "lines": account(found, words) if found else [{"label": "", "text": words[_why_none(run, lanes)]}],
            "what_if": words.say("pay_if_best", alpha=number(alpha, 3), c=number(c, 3), k=best, gain=f"{gain:.2f}"),
            "rows": None if measured is None and sweep is not None else sweep_rows(points),
        }


def _why_none(run: object, lanes: object) -> str:
    """The key of what is said where a run gives no numbers."""
    return "pay_forgotten" if run is not None and lanes is None else "pay_nothing"


def _source(found: Economy | None, points: tuple[Swept, ...]) -> tuple[Source, float, Costs]:
    """Whose α and costs are drawn: the sweep's, which knows each K; else the run's; else what stands for none."""
    if points and (judged := sum(point.judged for point in points)):
        return "sweep", sum(point.accepted for point in points) / judged, swept_costs(points)
    return ("run", found.alpha, found.costs) if found else ("set", _ALPHA, Costs(_C, {}))


def _between(value: object, most: float, mine: float) -> float:
    """A number that a slider may have, else the run's own."""
    return float(min(value, most)) if is_real(value) and value >= 0 else mine


def plan(request: Request, question: Question) -> Plan:
    """`question["turns"]` of runs of `question["length"]` tokens. Raises ValueError."""
    wanted = {name: _count(name, question.get(name)) for name in ("turns", "length")}
    turns, length = min(wanted["turns"], MOST_TURNS), min(wanted["length"], MOST_LENGTH)
    head = {
        **request.told(),
        "turns": turns,
        "length": length,
        "clamped": (turns, length) != (wanted["turns"], wanted["length"]),
    }
    begin, tokens = partial(_sweeps, request, turns, length), turns * (len(KS) + 1) * length
    return Plan(head, Work(request.pair, begin, tokens, patient=True))


def _count(name: str, value: object) -> int:
    count = count_of(value)
    if count is None:
        raise Refusal("pay_bad_count", name=Saying(f"pay_{name}"), value=shown(value))
    return count


def _sweeps(request: Request, turns: int, length: int, pair: Pair) -> Iterator[Sweep | None]:
    ids = pair.encode(request.prompt, request.chat and pair.has_chat)
    params = replace(request.params, max_new_tokens=length)
    done: dict[int, dict[int, RunStats]] = defaultdict(dict)
    runs, asked = 0, turns * (len(KS) + 1)
    yield Sweep((), runs, asked)
    for point in sweep(pair, ids, params, KS, turns):
        if point is None:
            yield None
            continue
        runs += 1
        done[point.turn][point.k] = point.stats
        yield Sweep(swept(list(done.values())), runs, asked)


def show(found: Sweep, question: Question, theme: ThemeName, words: Words) -> dict[str, object]:
    """That there is news: the answer to the tab's own question has it."""
    return {"runs": found.runs}
