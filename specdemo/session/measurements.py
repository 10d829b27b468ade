"""The measurements of a tab: begun, looked at and stopped by whatever a browser may send."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..palette import ThemeName
from ..records import is_whole
from ..words import Spoken, Words
from .asking import Question, theme_of, words_of
from .measurement import Found, Measurement
from .phase import Phase
from .place import Work
from .request import Request
from .seats import page_of
from .session import Session
from .store import Store


class Plan(NamedTuple):
    """What is to be measured.

    head  what was asked for, for the page
    work  as for `Measurement`
    """

    head: Mapping[str, object]
    work: Work


#: What is found as JSON, in a theme and a language, and as the question wants it.
Show = Callable[[Found, Question, ThemeName, Words], dict[str, object]]


class Measurements:
    """`plan` makes one of a request and the rest of a question, or raises ValueError."""

    def __init__(self, session: Session, plan: Callable[[Request, Question], Plan], show: Show) -> None:
        self._session, self._plan, self._show = session, plan, show
        self._kept = Store()

    def start(self, question: Question) -> dict[str, object]:
        """Begin; `question["fields"]` as for `Request.of`, and `page` as in `seats.page_of`: what it had measured here
        before ends. What is told is told by `look`, or why it cannot be."""
        fields = question.get("fields")
        try:
            request = self._session.request(fields if isinstance(fields, Mapping) else {})
            plan = self._plan(request, question)
            measurement, page = Measurement(plan.head, plan.work, self._session.place), page_of(question)
            self._session.seats.enter(measurement, page and (page, self))
        except ValueError as error:
            said = error.saying if isinstance(error, Spoken) else str(error)
            return {"phase": Phase("failed", {"sentence": said}).told()}
        self._kept.put(measurement.id, measurement)
        self._session.jobs.add(measurement)
        measurement.start()
        return self._told(measurement, question)

    def look(self, question: Question) -> dict[str, object] | None:
        """How it goes on, and what is found where the page has another number of `news`; None for a forgotten one."""
        measurement = self._kept.get(question.get("run"))
        return measurement and self._told(measurement, question)

    def stop(self, question: Question) -> dict[str, object] | None:
        measurement = self._kept.get(question.get("run"))
        if measurement:
            measurement.stop()
        return self.look(question)

    def found(self, run_id: object) -> Found | None:
        """What a measurement has found."""
        measurement = self._kept.get(run_id)
        return measurement and measurement.look().found

    def _told(self, measurement: Measurement, question: Question) -> dict[str, object]:
        measurement.renew()
        sheet = measurement.look()
        told = {"run": sheet.run_id, "phase": sheet.phase.told(), "head": dict(sheet.head), "news": sheet.news}
        known = question.get("news")
        if sheet.found is not None and not (is_whole(known) and known == sheet.news):
            told["shown"] = self._show(sheet.found, question, theme_of(question), words_of(question))
        return told
