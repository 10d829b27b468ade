"""The lesson, walked with the keyboard only, in Chinese, on a small projector."""

from browsing import browser, serve, server, tab, tiny  # noqa: F401
from playwright.sync_api import expect
from test_page_access import LECTURE
from test_page_words import english_on
from test_words import STEPS

from specdemo.words import WORDS

ZH = WORDS["zh"]

#: What is framed stands above the panel, or begins at the top where it is higher than that.
ABOVE = """() => {
    const look = document.querySelector(".sd-lesson-look")?.getBoundingClientRect();
    const foot = document.querySelector(".sd-lesson").getBoundingClientRect().top;
    return look && look.height > 40 && look.top >= 0 && (look.bottom <= foot || look.top < 20);
}"""


def test_the_lesson_is_walked_by_keyboard_alone(tiny, tab):  # noqa: F811
    page = tab(tiny, viewport=LECTURE, locale="zh-CN", figures=True).wait("recorded").page
    keys, part = page.keyboard, lambda name: page.locator(f".sd-lesson-{name}")
    while not page.evaluate("document.activeElement.matches('.sd-lesson-switch')"):
        keys.press("Tab")
    keys.press("Enter")
    for step in STEPS:
        expect(part("title")).to_have_text(ZH[f"lesson_{step}_title"])
        expect(part("text")).to_have_text(ZH[f"lesson_{step}"])
        expect(part("shown")).to_have_text("")
        keys.press("Space")
        expect(part("shown")).to_have_text(ZH[f"lesson_{step}_show"])
        page.wait_for_function(ABOVE)
        assert english_on(page) == set()
        keys.press("Space")
    expect(part("look")).to_have_count(0)
    expect(page.locator(".sd-lesson")).to_be_hidden()
    assert page.evaluate("document.activeElement.matches('.sd-lesson-switch')")


def test_keys_that_come_before_the_lesson_wait_for_it(tiny, tab):  # noqa: F811
    page, held = tab(tiny, viewport=LECTURE).wait("recorded").page, []
    page.route("**/lesson/lesson.js", lambda route: held.append(route))
    page.click(".sd-lesson-switch")
    expect(page.locator(".sd-lesson")).to_be_visible()
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    held.pop().continue_()
    expect(page.locator(".sd-lesson-title")).to_have_text(WORDS["en"][f"lesson_{STEPS[1]}_title"])


def test_numbers_that_the_lesson_speaks_of_are_there_on_a_projector(tiny, tab):  # noqa: F811
    page = tab(tiny, viewport=LECTURE, query="?view=projector").wait("recorded").page
    told = page.locator(".sd-stat-per_pass")
    expect(told.first).to_be_hidden()
    page.click(".sd-lesson-switch")
    for lane in told.all():
        expect(lane).to_be_visible()
    page.keyboard.press("Escape")
    expect(told.first).to_be_hidden()


def test_the_lesson_goes_back_and_can_be_left(tiny, tab):  # noqa: F811
    page = tab(tiny, viewport=LECTURE).wait("recorded").page
    keys, title = page.keyboard, page.locator(".sd-lesson-title")
    page.click(".sd-lesson-switch")
    expect(title).to_have_text(WORDS["en"][f"lesson_{STEPS[0]}_title"])
    walk = {"ArrowRight": 1, "ArrowLeft": 0, "End": -1, "ArrowDown": -1, "Home": 0}
    for key, step in walk.items():
        keys.press(key)
        expect(title).to_have_text(WORDS["en"][f"lesson_{STEPS[step]}_title"])
    keys.press("ArrowLeft")  # there is nothing before the first
    expect(title).to_have_text(WORDS["en"][f"lesson_{STEPS[0]}_title"])
    keys.press("Escape")
    expect(page.locator(".sd-lesson")).to_be_hidden()
    page.click(".sd-lesson-switch")
    expect(title).to_have_text(WORDS["en"][f"lesson_{STEPS[0]}_title"])
