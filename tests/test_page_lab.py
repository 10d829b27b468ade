"""The frame of tabs and the Lab in a real Chromium."""

import pytest
from browsing import NARROW, WIDE, Endless, browser, serve, server, tab, tiny, written  # noqa: F401
from playwright.sync_api import expect
from test_page_access import violations

LECTURE = {"width": 1024, "height": 768}


class Lab:
    """The Lab tab of a page."""

    def __init__(self, page):
        self.page = page.page

    def open(self):
        self.page.click("#sd-tab-lab-button")
        return self.wait("α = 0.5")

    def wait(self, alpha):
        expect(self.page.locator("[data-sum=kept]")).to_have_text(alpha)
        return self

    def column(self, name):
        return self.page.locator(f".sd-lab-table tbody .sd-lab-{name}").all_inner_texts()

    def values(self, side):
        return self.page.locator(f".sd-lab-{side} .sd-lab-number").evaluate_all("(all) => all.map((f) => f.value)")

    def field(self, side, i):
        return self.page.locator(f".sd-lab-{side} .sd-lab-number").nth(i)

    def refused(self):
        return self.page.locator(".sd-lab-refusal p")


@pytest.fixture
def lab(tiny, tab):  # noqa: F811
    def open_(**options):
        return Lab(tab(tiny, **options)).open()

    return open_


# -- the frame --------------------------------------------------------------------------------------------------------


def test_a_race_goes_on_while_another_tab_is_open(serve, tab):  # noqa: F811
    endless = Endless()
    page = tab(serve(endless.pair), figures=True).set("the hand", length=400)
    page.page.wait_for_selector(".sd-inspector[data-drawn]")
    page.page.evaluate("() => { for (const pane of document.querySelectorAll('.sd-pane')) pane.mine = true; }")
    page.run().wait_tokens(more_than=5)
    page.page.click("#sd-tab-lab-button")
    expect(page.page.locator("[data-sum=kept]")).to_have_text("α = 0.5")
    page.page.keyboard.press("Escape")  # it is the race's key, and the race is not open
    page.page.wait_for_function("document.querySelector('.sd-say').dataset.phase === 'done'")
    page.page.set_viewport_size({"width": 1100, "height": 768})
    page.page.click("#sd-tab-race-button")
    trace = page.trace()
    assert page.text("spec") == written(trace.rounds) and page.text("plain") == written(trace.baseline)
    panes = page.page.locator(".sd-pane")
    assert panes.evaluate_all("(all) => all.map((pane) => pane.mine)") == [True, True], "built anew"
    ends = panes.evaluate_all("(all) => all.map((p) => p.scrollHeight - p.scrollTop - p.clientHeight)")
    assert max(ends) < 4
    page.page.wait_for_function("""() => {
        const box = document.querySelector("[data-figure=position] > div");
        return Math.abs(box.querySelector(".main-svg").getBoundingClientRect().width - box.clientWidth) < 2;
    }""")


def test_the_tabs_are_walked_by_keys(tiny, tab):  # noqa: F811
    page = tab(tiny).page
    page.focus("#sd-tab-race-button")

    def wait_for_the_only_stop(name):
        page.wait_for_function(
            """(name) => [...document.querySelectorAll("#sd-tabs [role=tab]")]
                .filter((tab) => tab.tabIndex === 0).map((tab) => tab.dataset.tabId).join() === name""",
            arg=name,
        )

    wait_for_the_only_stop("race")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#sd-tab-lab-button")).to_be_focused()
    expect(page.locator("#sd-tab-lab")).to_be_visible()
    expect(page.locator("#sd-tab-race")).to_be_hidden()
    wait_for_the_only_stop("lab")
    page.keyboard.press("Home")
    expect(page.locator("#sd-tab-race")).to_be_visible()


# -- the lab ----------------------------------------------------------------------------------------------------------


def test_the_example_shows_the_figures_of_the_theory(lab):
    here = lab(figures=True)
    assert here.values("q") == ["0.2", "0.4", "0.3", "0.1"] and here.values("p") == ["0.5", "0.1", "0.1", "0.3"]
    assert here.column("accept") == ["1", "0.25", "0.3333", "1"]
    assert here.column("kept") == ["0.2", "0.1", "0.1", "0.1"]
    assert here.column("refused") == ["0", "0.3", "0.2", "0"]
    assert here.column("redrawn") == ["0.6", "0", "0", "0.4"]
    assert here.column("law") == ["0.5", "0.1", "0.1", "0.3"]
    expect(here.page.locator("[data-sum=refused]")).to_have_text("1 − α = 0.5")
    here.page.wait_for_selector("[data-figure=flow] .main-svg")
    texts = here.page.locator("[data-figure=flow] text").all_text_contents()
    assert {"kept 0.2", "+ 0.3", "− 0.3", "+ 0.2", "− 0.2"} <= set(texts)


def test_a_bar_is_dragged_and_all_follows(lab):
    here = lab()
    bar = here.page.locator(".sd-lab-q .sd-lab-bar").first
    box = bar.bounding_box()
    here.page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 10)
    here.page.mouse.down()
    for share in (0.4, 0.6, 0.8):
        here.page.mouse.move(box["x"] + share * box["width"], box["y"] + 10)
    here.page.mouse.up()
    values = [float(value) for value in here.values("q")]
    assert values[0] > 0.7 and sum(values) == pytest.approx(1, abs=1e-5)
    assert values[1] / values[2] == pytest.approx(4 / 3, abs=1e-3), "the others keep their proportions"
    alpha = sum(map(min, zip(values, (0.5, 0.1, 0.1, 0.3))))
    here.wait(f"α = {alpha:.4g}")


def test_what_is_no_distribution_is_named_kept_and_mended(lab):
    here = lab()
    for typed, sentence in [
        ("-0.2", "q of A is -0.2; it must be a number from 0 to 1."),
        ("abc", "q of A is abc; it must be a number from 0 to 1."),
        ("", "q of A is empty; it must be a number from 0 to 1."),
        ("1/2/3", "q of A is 1/2/3; it must be a number from 0 to 1."),
        ("0.7", "q sums to 1.5; a distribution must sum to 1."),
    ]:
        here.field("q", 0).fill(typed)
        expect(here.refused()).to_have_text(sentence)
        assert here.values("q") == [typed, "0.4", "0.3", "0.1"], "nothing is lost"
    here.page.click(".sd-lab-refusal button")
    expect(here.refused()).to_have_count(0)
    assert [float(v) for v in here.values("q")] == pytest.approx([x / 1.5 for x in (0.7, 0.4, 0.3, 0.1)], abs=5.1e-5)


def test_values_that_change_while_they_are_normalised_are_left_alone(lab):
    here = lab()
    here.field("q", 0).fill("0.7")
    expect(here.refused()).to_have_count(1)
    here.page.evaluate("""() => {
        document.querySelector(".sd-lab-refusal button").click();
        document.querySelector(".sd-lab-add").click();
    }""")
    expect(here.refused()).to_have_text("q sums to 1.5; a distribution must sum to 1.")
    assert here.values("q") == ["0.7", "0.4", "0.3", "0.1", "0"]


def test_tokens_come_and_go(lab):
    here = lab()
    for _ in range(8):
        here.page.click(".sd-lab-add")
    assert here.page.locator(".sd-lab-add").is_disabled() and len(here.values("q")) == 12
    here.field("p", 11).fill("1/4")
    expect(here.refused()).to_have_text("p sums to 1.25; a distribution must sum to 1.")
    for _ in range(10):
        here.page.locator(".sd-lab-remove").last.click()
    assert len(here.values("q")) == 2 and here.page.locator(".sd-lab-remove").first.is_hidden()


def test_a_wrong_rule_says_so_in_red_and_is_found_out(lab):
    here = lab(figures=True)
    here.page.locator(".sd-lab-rule", has_text="threshold").click()
    expect(here.page.locator(".sd-lab-warning")).to_be_visible()
    red = here.page.locator(".sd-lab-warning").evaluate("(words) => getComputedStyle(words).color")
    assert red == "rgb(179, 19, 47)"
    expect(here.page.locator(".sd-lab-law").first).to_have_text("0.62")
    assert here.column("law") == ["0.62", "0", "0", "0.38"]
    here.page.fill(".sd-lab-seed input", "5")
    here.page.click("[data-n='100000']")
    expect(here.page.locator(".sd-lab-verdict p").last).to_contain_text("The rule is found out.")
    here.page.wait_for_selector("[data-figure=histogram] .main-svg")
    assert "seed 5" in here.page.locator("[data-figure=histogram] figcaption").inner_text()
    needed = here.page.locator(".sd-lab-wrong .sd-chosen td").nth(3)
    expect(needed).to_have_text("50")


def test_a_seed_out_of_range_is_told(lab):
    here = lab()
    here.page.fill(".sd-lab-seed input", "-1")
    here.page.click(".sd-lab-one")
    expect(here.refused()).to_contain_text("The seed is -1; it must be a whole number from 0 to")


def test_a_token_of_the_race_in_the_lab(tiny, tab):  # noqa: F811
    page = tab(tiny).set("the hand", length=30, seed=5).run().wait("done")
    here = Lab(page).open()
    page.page.click("#sd-tab-race-button")
    page.page.click(".sd-tok.sd-rejected >> nth=0")
    page.page.click("#sd-tab-lab-button")
    page.page.locator(".sd-lab-presets button").last.click()
    expect(page.page.locator(".sd-lab-name")).not_to_have_count(4)
    names = page.page.locator(".sd-lab-name").evaluate_all("(all) => all.map((f) => f.value)")
    assert 10 <= len(names) <= 12 and names[-1] == "everything else"
    for side in ("p", "q"):
        assert sum(map(float, here.values(side))) == pytest.approx(1, abs=5e-5 * len(names))
    cut = "(all) => all.filter((field) => field.scrollWidth > field.clientWidth + 1).map((field) => field.value)"
    assert page.page.locator(".sd-lab-number").evaluate_all(cut) == []
    expect(here.refused()).to_have_count(0)


def test_the_lab_by_keyboard_alone_in_chinese(tiny, tab):  # noqa: F811
    page = tab(tiny, viewport=LECTURE, reduced_motion="reduce").page
    keys = page.keyboard
    page.focus(".sd-language")
    keys.press("Enter")
    page.focus("#sd-tab-race-button")
    keys.press("ArrowRight")
    expect(page.locator("[data-sum=kept]")).to_have_text("α = 0.5")

    def tab_to(selector):
        for _ in range(80):
            keys.press("Tab")
            if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
                return
        raise AssertionError(f"no key leads to {selector}")

    tab_to(".sd-lab-rule input")
    keys.press("ArrowRight")
    expect(page.locator(".sd-lab-warning")).to_contain_text("有损")
    keys.press("ArrowLeft")
    tab_to(".sd-lab-q .sd-lab-bar")
    keys.press("ArrowRight")  # 0.2 -> 0.21
    expect(page.locator(".sd-lab-q .sd-lab-number").first).to_have_value("0.21")
    tab_to(".sd-lab-q .sd-lab-number")
    keys.press("Control+A")
    keys.type("0.9")
    expect(page.locator(".sd-lab-refusal p")).to_contain_text("总和是")
    tab_to(".sd-lab-refusal button")
    keys.press("Enter")
    expect(page.locator(".sd-lab-refusal p")).to_have_count(0)
    tab_to(".sd-lab-one")
    keys.press("Enter")
    expect(page.locator(".sd-lab-steps li").nth(1)).to_be_visible()
    assert "草稿模型提出" in page.locator(".sd-lab-steps li").first.inner_text()
    tab_to("[data-n='100']")
    keys.press("Enter")
    expect(page.locator(".sd-lab-verdict p").first).to_contain_text("总变差")


@pytest.mark.parametrize("viewport", [NARROW, LECTURE, WIDE])
def test_the_lab_does_not_stick_out_sideways(lab, viewport):
    here = lab(viewport=viewport, figures=True)
    here.page.wait_for_selector("[data-figure=flow] .main-svg")
    here.page.click("[data-n='100']")
    here.page.wait_for_selector("[data-figure=histogram] .main-svg")
    widths = here.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]


def test_a_figure_takes_the_room_that_another_one_leaves(lab):
    """The coin is drawn over the whole width; the histogram takes half of it."""
    here = lab(viewport=WIDE, figures=True, reduced_motion="reduce")
    here.page.fill(".sd-lab-seed input", "3")
    here.page.click(".sd-lab-one")
    here.page.wait_for_selector(".sd-lab-round [data-figure=coin] .main-svg")
    here.page.click("[data-n='100']")
    here.page.wait_for_selector("[data-figure=histogram] .main-svg")
    here.page.wait_for_function("""() => [...document.querySelectorAll(".sd-lab-found figure")].every((figure) =>
        figure.querySelector(".main-svg").getBoundingClientRect().right < figure.getBoundingClientRect().right + 2)""")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_lab(lab, scheme):
    here = lab(color_scheme=scheme, reduced_motion="reduce", figures=True)
    here.page.locator(".sd-lab-rule", has_text="threshold").click()
    expect(here.page.locator(".sd-lab-wrong .sd-chosen td").nth(3)).to_have_text("50")
    here.page.click(".sd-lab-one")
    here.page.click("[data-n='100']")
    here.page.wait_for_selector("[data-figure=histogram] .main-svg")
    here.page.wait_for_selector(".sd-lab-steps li >> nth=1")
    assert violations(here.page) == []
    here.field("q", 0).fill("x")
    expect(here.refused()).to_have_count(1)
    assert violations(here.page) == []


# -- sizes ------------------------------------------------------------------------------------------------------------

SCREENS = {"a telephone": (NARROW, ""), "a laptop": (WIDE, ""), "a hall": ({"width": 1920, "height": 1080}, "&view=projector")}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("screen", SCREENS)
def test_no_table_of_the_lab_is_wider_than_its_place(lab, screen, language):
    viewport, query = SCREENS[screen]
    here = lab(viewport=viewport, query=f"?lang={language}{query}")
    wider = """() => [...document.querySelectorAll(".sd-lab, .sd-lab-scroll, .sd-lab :is(th, td)")]
        .filter((box) => box.clientWidth && box.scrollWidth > box.clientWidth + 1).map((box) => box.outerHTML)"""
    assert here.page.evaluate(wider) == []


def test_a_figure_is_as_large_as_the_letters_around_it(tiny, tab):  # noqa: F811
    """Seen: in a lecture hall its letters were half as high as all others, since plotly's are in pixels."""
    page = tab(tiny, viewport={"width": 1920, "height": 1080}, figures=True).page
    page.wait_for_selector(".sd-inspector[data-drawn]")

    def wait_for_letters(least, most):
        page.wait_for_function(
            """([least, most]) => {
                const size = (element) => parseFloat(getComputedStyle(element).fontSize);
                const tick = document.querySelector("[data-figure=position] .ytick text");
                const share = size(tick) / size(document.querySelector(".sd-sentences"));
                return least <= share && share <= most;
            }""",
            arg=[least, most],
        )

    wait_for_letters(0.85, 1.25)
    page.click(".sd-projector-switch")
    wait_for_letters(0.85, 1.25)
    page.click(".sd-projector-switch")
    wait_for_letters(0.85, 1.25)
