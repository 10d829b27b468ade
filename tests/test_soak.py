"""The soak's own judgement: what counts as an end, and that a missed bar is an exit status."""

import random
import sys
import time
from contextlib import contextmanager

import httpx
import pytest
from ports import free_port
from test_serve import session_of

from specdemo.ui.serve import open_page
from tools.soak import __main__ as soak
from tools.soak.bars import Bars
from tools.soak.cancel import _left
from tools.soak.client import ending
from tools.soak.scripted import Script
from tools.soak.served import Served
from tools.soak.together import _p95


def event(token_id):
    return [0, "x", token_id, 0.5, 0.5, 0.1, 0.9]


def test_an_ending_is_the_last_phase_with_all_that_was_written():
    deltas = [
        {"run": "a", "phase": {"name": "waiting"}},
        {"run": "a", "phase": {"name": "running"}, "spec": [[0, 1, [event(5), event(6)], []]]},
        {"run": "a", "phase": {"name": "done"}, "spec": [[1, 1, [event(7)], []]], "plain": [[0, 0, [event(8)], []]]},
    ]
    assert ending(iter(deltas)) == ("done", {"spec": [5, 6, 7], "plain": [8]})
    assert ending(iter(deltas[:2])).name == "running", "it broke off"
    assert ending(iter([{"phase": {"name": "failed", "sentence": {}}}])).name == "refused"
    assert ending(iter([])).name == "none"


@pytest.mark.parametrize("held", [True, False])
def test_a_missed_bar_is_the_exit_status(monkeypatch, capsys, held):
    monkeypatch.setattr(sys, "argv", ["tools.soak", "cancel", "--runs", "3"])
    monkeypatch.setattr(soak, "_soak", lambda arguments, bars: bars.hold("a bar", arguments.runs, held))
    assert soak.main() == (not held)
    assert capsys.readouterr().out.startswith("ok" if held else "MISSED")


def test_bars_count_what_was_missed():
    bars = Bars()
    for held in (True, False, False):
        bars.hold("a bar", 1, held)
    assert bars.missed == 2


def test_a_page_of_its_own_is_up_before_the_pair_is_loaded_and_gone_at_the_end():
    before = time.monotonic()
    with Served(loaded=False) as served:
        assert before < served.up < time.monotonic()
        assert httpx.get(served.url).is_success and served.memory() > 10**7
    with pytest.raises(httpx.ConnectError):
        httpx.get(served.url)


def test_a_page_that_ends_before_it_answers_is_told():
    with pytest.raises(TimeoutError), Served("--pair", "nix"):
        pass


class Told:
    """A client whose run is told as `phases`, and whose stop is answered by one of them."""

    def __init__(self, phases, answer):
        self.phases, self.answer = phases, answer

    @contextmanager
    def run(self, **fields):
        yield iter([{"run": "a", "phase": {"name": name}} for name in self.phases])

    def ask(self, name, question):
        return {"phase": {"name": self.answer}}


class Presses(random.Random):
    """Reads two updates, and then presses the button."""

    def randrange(self, *bounds):
        return 2

    def random(self):
        return 0.9


@pytest.mark.parametrize(
    ("phases", "answer", "clean"),
    [
        (["loading", "running", "running", "stopped"], "stopped", True),
        (["running", "done"], "done", True),  # it had just come to its end
        (["loading", "running", "running", "done"], "running", False),  # the button did nothing
        (["loading", "running", "running", "done"], "stopped", False),  # its reader was told something else
        (["loading", "running", "running"], "stopped", False),  # or nothing
    ],
)
def test_a_stop_is_told_to_who_asked_and_to_the_reader(phases, answer, clean):
    assert _left(Told(phases, answer), Presses(), 1) is clean


def test_the_95th_percentile():
    assert _p95(list(range(101))) == 95 and _p95([3.0]) == 3.0


def test_what_becomes_of_a_run_by_gradio_s_client():
    page = open_page(session_of(), port=free_port(), quiet=True)
    end = time.monotonic() + 60
    try:
        with Script(page.local_url) as script:
            assert script.run(None, end, prompt="the hand", length=3) == "done"
            assert script.run(None, end, prompt="the hand", k=99) == "refused"
            assert script.run(1, end, prompt="the hand", length=1000) == "cancelled"
    finally:
        page.close(verbose=False)


@pytest.mark.parametrize("words", [["--gradio", "31"], ["--gradio", "-1"], ["--minutes", "1"]])
def test_a_class_that_cannot_be_is_refused(monkeypatch, capsys, words):
    monkeypatch.setattr(sys, "argv", ["tools.soak", "class", *words])
    with pytest.raises(SystemExit):
        soak.main()
    assert words[0] in capsys.readouterr().err
