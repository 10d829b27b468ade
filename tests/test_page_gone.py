"""A page whose server does not answer, or has forgotten what it shows, in a real Chromium: it is told, and goes on by
itself."""

# ruff: noqa: F811

import time

import pytest
from browsing import Endless, browser, serve, server, tab, tiny  # noqa: F401
from playwright.sync_api import expect
from test_page_lab import Lab
from test_page_measure import opened

from specdemo.session import measurement as measurement_module
from specdemo.words import ENGLISH

LOST = ENGLISH["phase_lost"]

#: So that a server that never answers is given up soon.
IMPATIENT = "AbortSignal.timeout = ((timeout) => (ms) => timeout.call(AbortSignal, ms / 20))(AbortSignal.timeout);"


@pytest.mark.parametrize("name", ["lab", "proof", "pay"])
def test_a_tab_opened_without_a_server_stands_once_it_is_back(tiny, tab, name):
    page = tab(tiny, clean=False).page
    page.route(f"**/scripts/{name}/*", lambda route: route.abort())
    page.reload()  # a page at rest has the scripts of its tabs
    page.click(f"#sd-tab-{name}-button")
    expect(page.locator(".sd-away")).to_have_text(LOST)
    page.keyboard.press("Enter")
    start = page.locator(f".sd-{name} .sd-measure-start")
    assert name == "lab" or start.is_disabled(), "a form without its script would load the page anew"
    page.unroute(f"**/scripts/{name}/*")
    expect(page.locator(".sd-away")).to_have_count(0)
    if name == "lab":
        expect(page.locator("[data-sum=kept]")).to_have_text("α = 0.5")
    else:
        expect(start).to_be_enabled()


def test_the_lesson_asked_for_without_a_server_opens_once_it_is_back(tiny, tab):
    page = tab(tiny, clean=False).page
    page.route("**/scripts/lesson/*", lambda route: route.abort())
    for _ in range(3):
        page.click(".sd-lesson-switch")
    expect(page.locator(".sd-away")).to_have_count(1)
    page.unroute("**/scripts/lesson/*")
    expect(page.locator(".sd-lesson-title")).to_be_visible()
    expect(page.locator(".sd-away")).to_have_count(0)


def test_whatever_the_lab_asks_for_it_tells_that_the_server_is_gone(tiny, tab):
    page = tab(tiny, clean=False)
    here = Lab(page).open()
    buttons = [".sd-lab-refusal button", ".sd-lab-one", "[data-n='100']", ".sd-lab-presets button >> nth=-1"]
    for button in buttons:
        here.field("q", 0).fill("0.9")
        expect(here.refused()).to_have_text("q sums to 1.7; a distribution must sum to 1.")
        page.page.route("**/specdemo/ask/**", lambda route: route.abort())
        page.page.click(button)
        expect(here.refused()).to_have_text(LOST)
        page.page.unroute("**/specdemo/ask/**")
        expect(here.refused()).to_have_text("q sums to 1.7; a distribution must sum to 1.")
        here.field("q", 0).fill("0.2")
        expect(here.refused()).to_have_count(0)
    assert not [error for error in page.errors if "ERR_FAILED" not in error]


#: Whatever is asked for has no answer while `window.hangs`.
HANGS = """() => {
  const { fetch } = window;
  window.hangs = true;
  const never = ({ signal } = {}) =>
    new Promise((_, fail) => signal?.addEventListener("abort", () => fail(signal.reason)));
  window.fetch = (address, options) => (window.hangs ? never(options) : fetch(address, options));
}"""


def test_a_server_that_never_answers_is_told_of(tiny, tab):
    page = tab(tiny).set("the hand", length=5)
    proof = opened(page, "proof")
    page.page.evaluate(IMPATIENT)
    page.page.evaluate(HANGS)
    proof.locator(".sd-measure-start").click()
    page.page.wait_for_selector(".sd-proof[data-phase=lost]")
    page.page.click("#sd-tab-race-button")
    page.run().wait("lost")
    page.page.evaluate("window.hangs = false")
    page.wait("recorded")
    page.run().wait("done")
    assert page.tokens("plain").count() == 5


def checking(serve, tab):
    """A server, a page and its proof tab, where a check without end has found something."""
    server = serve(Endless().pair)
    page = tab(server).set("the hand")
    proof = opened(page, "proof")
    proof.locator(".sd-proof-runs").fill("20000")
    proof.locator(".sd-measure-start").click()
    page.page.wait_for_selector(".sd-proof-found:not([hidden])")
    return server, page, proof


def test_a_check_that_the_server_has_forgotten_ends(serve, tab):
    server, page, proof = checking(serve, tab)
    forgotten = {"body": "null", "content_type": "application/json"}
    page.page.route("**/specdemo/ask/proof_look", lambda route: route.fulfill(**forgotten))
    page.page.wait_for_selector(".sd-proof[data-phase=failed]")
    expect(proof.locator(".sd-measure-text")).to_have_text(ENGLISH["runs_forgotten"])
    expect(proof.locator(".sd-measure-start")).to_be_enabled()
    for job in tuple(server.session.jobs):
        job.stop()


def test_a_page_that_goes_ends_its_check(serve, tab):
    server, page, _ = checking(serve, tab)
    (check,) = [job for job in server.session.jobs if not job.over]
    page.page.reload()
    page.page.wait_for_selector(".sd-say[data-phase]")
    end = time.monotonic() + measurement_module.LEASE_S / 2
    while not check.over:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_run_taken_for_lost_does_not_write_into_the_next_one(serve, tab):
    page = tab(serve(Endless().pair), clean=False).set("the hand", length=1000).run().wait_tokens(more_than=10)
    # In one task, so that what the run tells next, by which it is found again, comes after the other one was asked for;
    # from then on looks at tokens are answered again.
    page.page.evaluate("""async () => {
        const say = document.querySelector(".sd-say"), { fetch } = window;
        window.fetch = (url, how) => `${url}`.endsWith("/inspect") ? Promise.reject(new TypeError()) : fetch(url, how);
        await new Promise((done, late) => {
            new MutationObserver(() => say.dataset.phase === "lost" && done()).observe(say, { attributeFilter: ["data-phase"] });
            document.querySelector(".sd-lane .sd-tok").click();
            setTimeout(late, 30_000, new Error("never lost"));
        });
        window.fetch = fetch;
        const detail = { prompt: "the hand", length: 5, seed: 1 };
        document.dispatchEvent(new CustomEvent("sd-run", { detail }));
    }""")
    page.wait("done")
    page.page.wait_for_function("document.querySelectorAll('.sd-lane[data-lane=plain] .sd-tok').length === 5")
    assert len(page.trace().baseline) == 5


def told_without(page, failing, selector, cause):
    """What `selector` tells in turn from `cause` on, while questions `failing` have no answer, but three `status` have;
    then they are answered again."""
    page.evaluate(
        """(selector) => {
            const note = () => {
                const told = document.querySelector(selector)?.textContent ?? "";
                if (told !== window.told.at(-1)) window.told.push(told);
            };
            window.told = [];
            new MutationObserver(note).observe(document, { subtree: true, childList: true, characterData: true });
        }""",
        selector,
    )
    page.route(failing, lambda route: route.abort())
    cause()
    expect(page.locator(selector)).to_have_text(LOST)
    for _ in range(3):
        with page.expect_response("**/specdemo/ask/status"):
            pass
    page.wait_for_timeout(200)  # what follows from the last of them
    told = page.evaluate("window.told")
    page.unroute(failing)
    return told[told.index(LOST) :]


@pytest.mark.parametrize("name", ["inspect", "rounds"])
def test_a_race_is_not_back_before_its_looks_are_answered(tiny, tab, name):
    page = tab(tiny, clean=False).wait("recorded")
    page.page.evaluate("document.querySelector('.sd-timing').open = true")
    page.page.wait_for_selector(".sd-timing[data-drawn]")
    page.page.wait_for_selector(".sd-inspector[data-drawn]")
    failing, token = f"**/specdemo/ask/{name}", page.page.locator(".sd-lane[data-lane=spec] .sd-tok").last
    assert told_without(page.page, failing, ".sd-phase-text", token.click) == [LOST]
    page.wait("recorded")


@pytest.mark.parametrize("name", ["show", "compare", "draw_many"])
def test_the_lab_is_not_back_before_its_looks_are_answered(tiny, tab, name):
    page = tab(tiny, clean=False)
    here = Lab(page).open()
    page.page.click("[data-n='100']")
    expect(page.page.locator(".sd-lab-sample")).to_be_visible()
    failing, theme = f"**/specdemo/ask/lab_{name}", page.page.locator(".sd-theme")
    assert told_without(page.page, failing, ".sd-lab-refusal", theme.click) == [LOST]
    expect(here.refused()).to_have_count(0)


@pytest.mark.parametrize("name, after", [("proof_look", "Finished."), ("pay_answer", ENGLISH["phase_back"])])
def test_a_measurement_is_not_back_before_its_looks_are_answered(tiny, tab, name, after):
    page, (home, _) = tab(tiny, clean=False).set("the hand"), name.split("_")
    root = opened(page, home)
    if name == "proof_look":
        root.locator(".sd-proof-runs").fill("5")
        root.locator(".sd-measure-start").click()
        page.page.wait_for_selector(".sd-proof[data-phase=done]")
    failing, theme = f"**/specdemo/ask/{name}", page.page.locator(".sd-theme")
    assert told_without(page.page, failing, f".sd-{home} .sd-measure-text", theme.click) == [LOST]
    expect(root.locator(".sd-measure-text")).to_have_text(after)


def test_no_token_is_put_in_place_before_the_server_has_named_any(tiny, tab):
    page = tab(tiny, clean=False).wait("recorded")
    page.page.route("**/specdemo/ask/inspect", lambda route: route.abort())
    page.page.click(".sd-lane[data-lane=plain] .sd-tok >> nth=2")
    page.wait("lost")
    button = page.page.locator(".sd-fork-token")
    expect(button).to_be_disabled()
    page.page.unroute("**/specdemo/ask/inspect")
    expect(button).to_be_enabled()


@pytest.fixture
def forgotten(tiny, tab):
    """A page whose server was started anew: it knows nothing of the run on it, nor of its sweep."""
    page = tab(tiny).set("the hand", length=8, seed=3).run().wait("done")
    pay = opened(page, "pay")
    pay.locator(".sd-pay-turns").fill("1")
    pay.locator(".sd-pay-length").fill("4")
    pay.locator(".sd-measure-start").click()
    page.page.wait_for_selector(".sd-pay[data-phase=done]")
    expect(pay.locator(".sd-pay-sweep tbody tr")).to_have_count(6)
    page.page.click("#sd-tab-race-button")
    page.page.evaluate("""() => {
        const { fetch } = window;
        window.fetch = (address, options) => fetch(address, {
            ...options,
            body: options.body?.replace(/"(run|sweep)":"[^"]*"/g, '"$1":"gone"'),
        });
    }""")
    return page


def test_a_token_of_a_forgotten_run_says_so(forgotten):
    forgotten.page.click(".sd-lane[data-lane=plain] .sd-tok >> nth=2")
    says = forgotten.page.locator(".sd-inspector .sd-sentences")
    expect(says).to_have_text(ENGLISH["runs_forgotten"])
    forgotten.page.click(".sd-language")
    expect(says).to_have_text("服务器已不再保留这次运行。")


def test_what_a_forgotten_sweep_measured_stays(forgotten):
    forgotten.page.click("#sd-tab-pay-button")
    pay = forgotten.page.locator(".sd-pay")
    expect(pay.locator(".sd-sentences")).to_contain_text("does not keep the run")
    expect(pay.locator(".sd-pay-sweep tbody tr")).to_have_count(6)
    expect(pay.locator(".sd-pay-sweep table")).to_be_visible()
