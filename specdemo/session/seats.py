"""Who may wait or work at all: so many at once, and one for each page."""

import threading
from collections.abc import Hashable

from ..records import as_text
from ..words import Refusal, Saying
from .asking import Question
from .job import Job

#: Runs and measurements that may be waiting or going on at once.
AT_ONCE = 64

#: Characters of the id by which a page is known.
PAGE_ID = (16, 64)


def page_of(question: Question) -> str | None:
    """The id of the page that asks, None for one who has none. Raises Refusal for what is no id.

    A page makes its id when it is opened and tells nobody else, so whoever knows it is that page. Two tabs, of one
    browser too, are two pages: neither ends what the other asked for.
    """
    page = question.get("page")
    if page is None:
        return None
    if not isinstance(page, str) or not PAGE_ID[0] <= len(page) <= PAGE_ID[1]:
        legal = Saying("legal_page", low=PAGE_ID[0], high=PAGE_ID[1])
        raise Refusal("out_of_range", name=Saying("field_page"), value=as_text(repr(page))[:60], legal=legal)
    return page


class Seats:
    """The jobs that are not over."""

    def __init__(self, most: int = AT_ONCE) -> None:
        self._most = most
        self._jobs: list[tuple[Hashable, Job]] = []
        self._lock = threading.Lock()

    def enter(self, job: Job, key: Hashable) -> None:
        """Let a job in that has not been started, in the seat of the one that came with the same `key`, which ends
        now; None is nobody's key. Raises Refusal where all seats are taken."""
        with self._lock:
            there = [(other, old) for other, old in self._jobs if not old.over]
            former = [old for other, old in there if key is not None and other == key]
            if len(there) - len(former) >= self._most:
                raise Refusal("server_full", runs=self._most)
            for old in former:
                old.stop()
            self._jobs = [(other, old) for other, old in there if old not in former] + [(key, job)]
