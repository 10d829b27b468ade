"""The page in a real Chromium, for tests: a server on tiny pairs, and tabs that say what a reader does and sees.

Waits have a limit only so that a fault fails instead of hanging.
"""

import threading
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from ports import free_port
from spies import spied
from tiny import tiny_pair

from specdemo.session import Here, Library, Session
from specdemo.trace import from_json
from specdemo.ui.serve import TRACES, open_page
from specdemo.words import Saying

LIMIT_MS = 60_000
WIDE, NARROW = {"width": 1366, "height": 768}, {"width": 400, "height": 860}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

expect.set_options(timeout=LIMIT_MS)


@pytest.fixture(scope="module")
def browser(chromium):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield browser
        browser.close()


class Server:
    """A served page. `pair` is what a run gets, once `gate` is open; without one, runs get what people get."""

    def __init__(self, pair=None, recorded=True):
        self.pair, self.gate = pair, threading.Event()
        self.gate.set()
        self.session = Session(Library(TRACES) if recorded else None, self._place() if pair else None)
        port = free_port()
        self.blocks = open_page(self.session, port=port, quiet=True)
        self.url = f"http://127.0.0.1:{port}/"

    def _place(self):
        return Here(load=self._load)

    def _load(self, spec, progress):
        progress(0.4, Saying("model_reading", name="it"))
        self.gate.wait(LIMIT_MS / 1000)
        return self.pair

    def change(self, pair):
        """From now on runs get this pair."""
        self.pair, self.session.place = pair, self._place()
        return self

    def close(self):
        self.gate.set()
        self.blocks.close(verbose=False)


class Endless:
    """A tiny pair that never stops of itself, the targets that it opened, and what lets them go on."""

    def __init__(self):
        tiny, self.go = replace(tiny_pair(max_position_embeddings=4096), stop_ids=frozenset()), threading.Event()
        self.go.set()
        self.pair, self.targets = spied(tiny, at=lambda n: self.go.wait(LIMIT_MS / 1000))

    @property
    def passes(self):
        return sum(target.passes for target in self.targets)


@pytest.fixture(scope="module")
def server():
    """The one server that most tests share; making a page takes seconds."""
    server = Server(tiny_pair())
    yield server
    server.close()


@pytest.fixture
def serve(server):
    """The shared server with a pair of the test's own."""
    return server.change


@pytest.fixture
def tiny(serve):
    return serve(tiny_pair())


#: In place of plotly.js, for tests that look at no figure: reading it takes a second.
NO_FIGURES = "window.Plotly = { react: async (box) => { box.textContent = 'a figure'; } };"


class Tab:
    """What a reader does and sees."""

    def __init__(self, page: Page, url: str, figures: bool, query: str):
        self.page, self.errors, self.outside = page, [], []
        page.set_default_timeout(LIMIT_MS)
        page.on("console", lambda message: self._heed(message) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", lambda dialog: (self.errors.append("a dialog opened"), dialog.dismiss()))
        page.on("request", lambda request: self._note(request.url, url))
        if not figures:
            page.route(
                "**/specdemo/plotly", lambda route: route.fulfill(body=NO_FIGURES, content_type="text/javascript")
            )
        page.goto(url + query)
        page.wait_for_selector(".sd-say[data-phase]")

    def _heed(self, message):
        self.errors.append(f"{message.text} {message.location}")

    def _note(self, url, base):
        if not url.startswith((base, "data:", "blob:")):
            self.outside.append(url)

    def set(self, prompt=None, **fields):
        if prompt is not None:
            self.page.fill("#sd-prompt textarea", prompt)
        fresh = fields and not self.page.locator("#sd-length input").is_visible()
        if fresh:
            self.page.click("#sd-more > button")
            self.rest()
        for name, value in fields.items():
            box = self.page.locator(f"#sd-{name} :is(input, textarea)").first
            if isinstance(value, bool):
                box.set_checked(value)
                continue
            box.fill(str(value))
            box.press("Tab")
            if fresh:  # a field that has just been made sets its first value, after which what is typed counts
                self.rest()
                if box.input_value() != str(value):
                    box.fill(str(value))
                    box.press("Tab")
        return self

    def rest(self):
        """Until the page has nothing else to do."""
        self.page.evaluate("() => new Promise((done) => requestIdleCallback(done))")

    def run(self):
        self.page.click("#sd-run")
        return self

    def wait(self, phase):
        self.page.wait_for_selector(f".sd-say[data-phase={phase}]")
        return self

    def wait_drawn(self, address):
        self.page.wait_for_selector(f".sd-inspector[data-drawn='{address}']")
        return self

    def wait_tokens(self, lane="spec", more_than=0):
        """Until the run that goes on has written so much."""
        self.wait("running")
        js = "([lane, n]) => document.querySelectorAll(`[data-lane=${lane}] .sd-tok`).length > n"
        self.page.wait_for_function(js, arg=[lane, more_than])
        return self

    def tokens(self, lane="spec"):
        return self.page.locator(f".sd-lane[data-lane={lane}] .sd-tok")

    def text(self, lane="spec"):
        """The text of a lane, without what was drafted in vain."""
        js = "(all) => all.filter((t) => !t.classList.contains('sd-lost')).map((t) => t.textContent).join('')"
        return self.tokens(lane).evaluate_all(js)

    def said(self):
        return self.page.locator(".sd-phase-text").inner_text()

    def picked(self):
        return self.page.locator(".sd-pane [aria-selected=true]").evaluate_all("(all) => all.map((t) => t.id)")

    def trace(self):
        with self.page.expect_download() as download:
            self.page.click(".sd-download")
        return from_json(Path(download.value.path()).read_text("utf-8"))

    def check_clean(self):
        assert self.errors == [] and self.outside == []


@pytest.fixture
def tab(browser):
    """Opens tabs; at the end none of them may have met an error or asked anybody else for anything."""
    contexts, tabs = [], []

    def open_(server, viewport=WIDE, clean=True, figures=False, query="", **options):
        contexts.append(browser.new_context(viewport=viewport, **options))
        opened = Tab(contexts[-1].new_page(), server.url, figures, query)
        if clean:
            tabs.append(opened)
        return opened

    yield open_
    try:
        for opened in tabs:
            opened.check_clean()
    finally:
        for context in contexts:
            context.close()


def written(rounds):
    return "".join(event.text for round_ in rounds for event in round_.emitted)
