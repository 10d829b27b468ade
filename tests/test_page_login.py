"""A login that the server has forgotten, as after a restart: asked for again on the page, which keeps all it shows."""

from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import NARROW, Tab, browser  # noqa: F401
from playwright.sync_api import expect
from ports import free_port
from test_serve import LOGIN, session_of
from tiny import tiny_pair

from specdemo.ui.serve import open_page
from specdemo.words import WORDS


@pytest.fixture(scope="module")
def blocks():
    pair = replace(tiny_pair(), stop_ids=frozenset())
    page = open_page(session_of(lambda spec, progress: pair), port=free_port(), login=LOGIN, quiet=True)
    yield page
    page.close(verbose=False)


@pytest.fixture
def page(blocks, browser):  # noqa: F811
    """A tab of somebody who is logged in, and whom the server then forgets."""
    context = browser.new_context()
    context.request.post(f"{blocks.local_url}login", form=dict(zip(("username", "password"), LOGIN)))
    page = Tab(context.new_page(), blocks.local_url, False, "").set("the hand", length=5).run().wait("done")
    blocks.app.tokens.clear()
    yield page
    context.close()


def log_in(page, password):
    page.page.fill(".sd-login [name=username]", LOGIN[0])
    page.page.fill(".sd-login [name=password]", password)
    page.page.click(".sd-login button")


def test_who_is_no_longer_known_logs_in_on_the_page_and_goes_on(page):
    text = page.text()
    assert page.page.locator(".sd-login").count() == 0
    page.set("and in", length=7).run().wait("lost")
    assert page.said() == WORDS["en"]["phase_login"]
    expect(page.page.locator(".sd-login button")).to_be_in_viewport()
    log_in(page, "wrong")
    expect(page.page.locator(".sd-login p")).to_have_text(WORDS["en"]["login_refused"])
    page.page.click(".sd-language")
    expect(page.page.locator(".sd-login p")).to_have_text(WORDS["zh"]["login_refused"])
    expect(page.page.locator(".sd-phase-text")).to_have_text(WORDS["zh"]["phase_login"])
    page.page.click(".sd-language")
    log_in(page, LOGIN[1])
    expect(page.page.locator(".sd-login")).to_have_count(0)
    page.wait("done")
    assert page.text() == text, "what was on the page stays"
    page.run()
    expect(page.tokens("plain")).to_have_count(7)  # and what was in its fields


def test_a_login_elsewhere_is_enough(page, blocks):
    page.run().wait("lost")
    page.page.context.request.post(f"{blocks.local_url}login", form=dict(zip(("username", "password"), LOGIN)))
    expect(page.page.locator(".sd-login")).to_have_count(0)
    page.wait("done")


def test_the_other_tabs_ask_for_it_too(page):
    page.page.get_by_role("tab", name="Lab").click()
    page.page.click(".sd-lab-one")
    expect(page.page.locator(".sd-lab-refusal p")).to_have_text(WORDS["en"]["phase_login"])
    log_in(page, LOGIN[1])
    expect(page.page.locator(".sd-lab-refusal p")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_bar_can_be_read_by_everybody(page, scheme):
    page.page.emulate_media(color_scheme=scheme)
    page.run().wait("lost")
    for viewport in (None, NARROW):
        if viewport:
            page.page.set_viewport_size(viewport)
        found = Axe().run(page.page, context=".sd-login").response["violations"]
        assert [(rule["id"], node["html"][:200]) for rule in found for node in rule["nodes"]] == []
        assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
