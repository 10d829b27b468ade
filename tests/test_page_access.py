"""Who does not see the page, or not well, or has no mouse: in a real Chromium."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import NARROW, browser, serve, server, tab, tiny  # noqa: F401
from playwright.sync_api import expect

from specdemo.words import WORDS

LECTURE, HALL = {"width": 1024, "height": 768}, {"width": 1920, "height": 1080}

VISIBLE_FOCUS = """() => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(document.activeElement);
    return document.activeElement === document.body
        || (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) || boxShadow !== "none";
}"""

#: What is seen to the end nowhere: it reaches out of the window, and of a box that does not scroll, or has no width.
CUT_OFF = """() => {
    const scrolled = ".sd-lab-scroll, .sd-strip, .sd-table-box, .sd-pane";
    const seen = (e) => e.checkVisibility() && getComputedStyle(e).opacity !== "0";
    return [...document.querySelectorAll("button, select, input, textarea, summary, h1, h2, h3, p, dd, figure span")]
        .filter((e) => seen(e) && !e.closest(scrolled))
        .filter((e) => {
            const { left, right, width } = e.getBoundingClientRect();
            return left < 0 || right > innerWidth + 1 || (e.matches("input[type=range]") && width < 60);
        })
        .map((e) => e.outerHTML.slice(0, 120));
}"""


def violations(page):
    found = Axe().run(page).response["violations"]
    return [(rule["id"], node["html"][:200]) for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_either_language(tiny, tab, scheme):  # noqa: F811
    page = tab(tiny, color_scheme=scheme, figures=True).set("the hand", length=20, seed=5).run().wait("done")
    page.page.click(".sd-rounds-table summary")
    page.page.wait_for_selector(".sd-inspector[data-drawn] [data-figure=position] .ytick text")
    assert violations(page.page) == []
    page.page.click(".sd-language")
    expect(page.page.locator("#sd-run")).to_have_text(WORDS["zh"]["run"])
    expect(page.page.locator("[data-figure=position] .xtitle")).to_have_text(WORDS["zh"]["pq_axis"])
    assert violations(page.page) == []


def test_the_table_has_every_token_of_every_round(tiny, tab):  # noqa: F811
    page = tab(tiny).set("the hand", length=20, seed=5).run().wait("done")
    rows = page.page.locator(".sd-table tbody tr")
    assert rows.count() == 0, "nobody has opened it"
    page.page.click(".sd-rounds-table summary")
    trace = page.trace()
    events = [event for round_ in trace.rounds for event in round_.events]
    told = page.page.locator(".sd-table tbody tr td:nth-of-type(2)").all_inner_texts()
    assert [text.split()[1] for text in told] == [event.outcome for event in events]
    assert page.page.locator(".sd-table tbody th").count() == len(trace.rounds)
    page.page.click(".sd-language")
    expect(rows.first).to_contain_text(WORDS["zh"][events[0].outcome])
    page.set("and in", length=8).run().wait("done")
    assert rows.count() == sum(len(round_.events) for round_ in page.trace().rounds)


def test_whatever_has_the_focus_shows_it(tiny, tab):  # noqa: F811
    """One walk by Tab through the whole page."""
    page = tab(tiny)
    hidden = []
    for _ in range(60):
        page.page.keyboard.press("Tab")
        if not page.page.evaluate(VISIBLE_FOCUS):
            hidden.append(page.page.evaluate("document.activeElement.outerHTML.slice(0, 120)"))
    assert hidden == []


def test_still_where_motion_is_not_wanted(tiny, tab):  # noqa: F811
    page = tab(tiny, reduced_motion="reduce")
    moving = """() => [...document.querySelectorAll("*")].filter((e) => {
        const { transitionDuration, transitionProperty, animationName } = getComputedStyle(e);
        return animationName !== "none" || (transitionProperty !== "none" && parseFloat(transitionDuration) > 0);
    }).map((e) => e.className)"""
    assert page.page.evaluate(moving) == []


@pytest.mark.parametrize("query", ["?lang=en", "?lang=zh", "?view=projector"])
@pytest.mark.parametrize("viewport", [NARROW, LECTURE])
def test_nothing_is_cut_off_at_the_side(tiny, tab, viewport, query):  # noqa: F811
    page = tab(tiny, viewport=viewport, query=query, figures=True).wait("recorded").page
    for name in ("race", "lab", "proof", "pay"):
        page.click(f"#sd-tab-{name}-button")
        if name in ("race", "lab", "pay"):
            page.wait_for_selector("figure .main-svg >> visible=true")
        assert page.evaluate(CUT_OFF) == [], name


@pytest.mark.parametrize("viewport", [LECTURE, HALL])
def test_a_projector_tells_the_prompt_of_a_run_that_is_not_the_form_s(tiny, tab, viewport):  # noqa: F811
    page = tab(tiny, viewport=viewport, query="?view=projector&run=code").wait("recorded")
    expect(page.page.locator(".sd-asked q")).to_be_in_viewport()
    page.set("the hand").run().wait("done")
    expect(page.page.locator(".sd-asked q")).to_be_hidden()


@pytest.mark.parametrize("viewport", [LECTURE, HALL])
def test_the_projector_shows_the_panes_and_large(server, browser, viewport):  # noqa: F811
    context = browser.new_context(viewport=viewport)
    page = context.new_page()
    page.goto(server.url + "?view=projector")
    page.wait_for_selector(".sd-say[data-phase=recorded]")
    expect(page.locator(".sd-projector-switch")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#sd-chips")).to_be_hidden()
    expect(page.locator("#sd-run")).to_be_in_viewport()
    for pane in page.locator(".sd-pane").all():
        box = pane.bounding_box()
        assert box["y"] + box["height"] <= viewport["height"] and box["height"] > 0.3 * viewport["height"]
    size = page.locator(".sd-pane").first.evaluate("(pane) => parseFloat(getComputedStyle(pane).fontSize)")
    assert size >= viewport["height"] / 32, "a thirtieth of the picture's height can be read from the last row"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.click(".sd-projector-switch")
    expect(page.locator("#sd-chips")).to_be_visible()
    context.close()
