"""The page in two languages, in a real Chromium."""

import re

import pytest
from browsing import Endless, browser, serve, server, tab, tiny, written  # noqa: F401
from playwright.sync_api import expect

from specdemo.words import ENGLISH, WORDS

#: All that a reader or a screen reader is told on the page, but not what a model or the reader wrote.
TOLD = """() => {
    const written =
        ".sd-pane, .sd-asked q, .sd-big, .sd-figure svg, .sd-pair, .sd-language, textarea, style, script";
    const texts = [];
    for (const element of document.querySelectorAll("body *")) {
        if (element.closest(written)) continue;
        for (const name of ["aria-label", "title", "placeholder"])
            if (element.hasAttribute(name)) texts.push(element.getAttribute(name));
        for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) texts.push(node.data);
    }
    return texts.map((text) => text.replace(/\\s+/g, " ").trim()).filter(Boolean);
}"""


#: What of a text is English only, its beginning and its end, where it has places, one by one.
PIECES = {
    piece.strip()
    for key, text in ENGLISH.items()
    for piece in re.split(r"\{\w+\}", text)
    if len(re.findall(r"[A-Za-z]", piece)) > 3 and piece.strip() not in WORDS["zh"][key]
}
ANY_PIECE = re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(p) for p in sorted(PIECES, key=len, reverse=True))})(?!\w)")


#: What a sentence sets apart: a token, which may be an English word in any language.
APART = re.compile("\u2068.*?\u2069")


def english_on(page):
    """What of the English words the page tells, and where."""
    told = {APART.sub("", text) for text in page.evaluate(TOLD)}
    return {(found.group(), text) for text in told for found in ANY_PIECE.finditer(text)}


def test_the_language_changes_in_the_midst_of_a_run_and_nothing_is_lost(serve, tab):  # noqa: F811
    endless = Endless()
    page = tab(serve(endless.pair), figures=True).set("the hand", k=2, length=300, seed=11, temperature=1.2)
    page.run().wait_tokens(more_than=8)
    endless.go.clear()
    page.tokens().nth(3).click()
    (picked,) = page.picked()
    page.wait_drawn(picked.removeprefix("sd-"))
    assert english_on(page.page), "the check finds nothing"
    before = page.text()
    page.page.click(".sd-language")
    expect(page.page.locator(".sd-phase-text")).to_have_text(WORDS["zh"]["phase_running"])
    expect(page.page.locator("#sd-k label").first).to_contain_text(WORDS["zh"]["k"])
    expect(page.page.locator("[data-figure=position] .xtitle")).to_have_text(WORDS["zh"]["pq_axis"])
    assert english_on(page.page) == set()
    assert page.picked() == [picked] and page.text().startswith(before)
    assert page.page.input_value("#sd-prompt textarea") == "the hand"
    assert page.page.input_value("#sd-seed :is(input, textarea)") == "11"
    assert page.page.locator("html").get_attribute("lang") == "zh-CN" and page.page.title() == WORDS["zh"]["name"]
    endless.go.set()
    page.wait("done")
    trace = page.trace()
    assert page.text() == written(trace.rounds) and trace.prompt == "the hand" and trace.params.temperature == 1.2
    assert english_on(page.page) == set()
    page.page.reload()
    expect(page.page.locator("#sd-run")).to_have_text(WORDS["zh"]["run"])
    page.page.click(".sd-language")
    expect(page.page.locator("#sd-run")).to_have_text("Run")


@pytest.mark.parametrize(
    ("locale", "query", "said"),
    [("zh-CN", "", "zh"), ("de-DE", "", "en"), ("zh-TW", "?lang=en", "en"), ("en", "?lang=zh", "zh")],
)
def test_the_first_language(server, browser, locale, query, said):  # noqa: F811
    context = browser.new_context(locale=locale)
    page = context.new_page()
    page.goto(server.url + query)
    expect(page.locator("#sd-run")).to_have_text(WORDS[said]["run"])
    expect(page.locator(".sd h2").first).to_have_text(WORDS[said]["lane_spec"])
    context.close()


def test_a_refusal_follows_the_language(tiny, tab):  # noqa: F811
    page = tab(tiny).set("the hand", **{"top-p": "7"}).run().wait("failed")
    assert page.said() == "Top-p is 7; it must be a number above 0 and at most 1."
    page.page.click(".sd-language")
    expect(page.page.locator(".sd-phase-text")).to_have_text("Top-p：7 不可用；允许的值：大于 0 且不大于 1 的数。")
    assert page.page.input_value("#sd-prompt textarea") == "the hand"
