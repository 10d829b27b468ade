"""A class at once, in a real Chromium; what stands behind it is tested in `test_class`."""

# ruff: noqa: F811

from contextlib import closing

import pytest
from browsing import Endless, browser, serve, server, tab  # noqa: F401
from playwright.sync_api import expect
from test_page_measure import opened

from specdemo.models import CATALOGUE
from specdemo.session import Store


def test_one_who_waits_is_told_the_place_and_about_how_long(serve, tab):
    endless = Endless()
    server = serve(endless.pair)
    turns = server.session.place.turns
    turns.forecast.learn(CATALOGUE["embedded"], 10, 20.0)
    first, second = tab(server).set("the hand", length=1000), tab(server).set("and in", length=10)
    first.run().wait_tokens(more_than=1)
    second.run().wait("waiting")
    text = second.page.locator(".sd-phase-text")
    expect(text).to_have_text("Waiting for the machine: 1 before you, about 2 min.")  # no run may take longer
    second.page.click(".sd-language")
    expect(text).to_have_text("正在排队：前面还有 1 个任务，大约还要等 2 分钟。")
    first.page.click("#sd-stop")
    second.wait("done")


def test_a_run_that_is_cut_says_what_was_asked_and_what_is_allowed(serve, tab):
    server = serve(Endless().pair)
    server.session.place.turns.most_s = 0.5
    page = tab(server).set("the hand", length=1000).run().wait("done")
    assert page.said() == "Ended before all 1000 tokens were written: a run may take at most 0.5 s here."
    expect(page.page.locator(".sd-lane[data-lane=plain] .sd-end")).to_have_text("out of time")
    assert 0 < page.tokens("plain").count() < 1000 == page.trace().params.max_new_tokens


def test_a_page_has_one_run_and_two_tabs_are_two_pages(serve, tab):
    server = serve(Endless().pair)
    first, second = tab(server).set("the hand", length=1000), tab(server).set("and in", length=1000)
    first.run().wait_tokens(more_than=1)
    second.run().wait("waiting")
    ids = [job.id for job in server.session.jobs if not job.over]
    first.page.evaluate("""async () => {
        // The connection hangs: the server is not told that the page has given the run up.
        window.fetch = ((fetch) => (path, { signal, ...rest }) => fetch(path, rest))(window.fetch);
    }""")
    first.page.evaluate("document.querySelector('#sd-stop').click(), document.querySelector('#sd-run').click()")
    second.wait_tokens(more_than=1)
    first.wait("waiting")
    left = [job.id for job in server.session.jobs if not job.over]
    assert len(ids) == len(left) == 2 and len({*ids, *left}) == 3
    for page in (second, first):
        page.page.click("#sd-stop")


@pytest.fixture
def breaking(serve, monkeypatch):
    """A server whose runs break off in the middle."""
    server = serve(Endless().pair)
    run = server.session.run

    def breaks(**fields):
        with closing(run(**fields)) as deltas:
            for delta in deltas:
                yield delta
                if '"plain":[' in delta:
                    raise ConnectionError("the server is gone")

    monkeypatch.setattr(server.session, "run", breaks)
    return server


def test_a_page_waits_for_its_server_and_keeps_what_was_written(breaking, tab, monkeypatch):
    page = tab(breaking, clean=False).set("the hand", length=1000)
    proof = opened(page, "proof")
    page.page.get_by_role("tab", name="Race").click()
    page.page.route("**/specdemo/ask/**", lambda route: route.abort())
    page.run().wait("lost")
    text = page.text()
    page.page.get_by_role("tab", name="Is it lossless?").click()
    proof.locator(".sd-measure-start").click()
    page.page.wait_for_selector(".sd-proof[data-phase=lost]")
    breaking.session._runs = Store()
    monkeypatch.undo()
    page.page.unroute("**/specdemo/ask/**")
    page.page.wait_for_selector(".sd-proof[data-phase=back]")
    page.page.get_by_role("tab", name="Race").click()
    page.wait("back")
    assert text and page.text() == text
    page.set(length=5).run().wait("done")
    assert page.tokens("plain").count() == 5


def test_a_page_whose_connection_broke_takes_what_it_missed(breaking, tab, monkeypatch):
    page = tab(breaking, clean=False).set("the hand", length=1000).run().wait("lost").wait("stopped")
    trace = page.trace()
    assert page.text() == "".join(event.text for round_ in trace.rounds for event in round_.emitted)
