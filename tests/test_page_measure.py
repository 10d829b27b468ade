"""The tabs that measure in a real Chromium; what stands behind them is tested in `test_measurements`."""

# ruff: noqa: F811

from contextlib import closing

import pytest
from browsing import LIMIT_MS, Endless, browser, serve, server, tab, tiny  # noqa: F401
from playwright.sync_api import expect
from test_page_access import violations
from tiny import tiny_pair

from specdemo.metrics import measure
from specdemo.session import Here
from specdemo.session import measurement as measurement_module
from specdemo.session.place import within
from specdemo.trace import load
from specdemo.ui.serve import TRACES


def opened(page, name):
    page.page.get_by_role("tab", name={"proof": "Is it lossless?", "pay": "Does it pay?"}[name]).click()
    page.page.wait_for_selector(f".sd-{name}[data-phase=idle]")
    return page.page.locator(f".sd-{name}")


def test_is_it_lossless_on_the_page(tiny, tab):
    page = tab(tiny).set("the hand", seed=3)
    proof = opened(page, "proof")
    expect(proof.locator(".sd-measure-text")).to_have_text("Press Check.")
    proof.locator(".sd-proof-runs").fill("40")
    proof.locator(".sd-proof-runs").press("Enter")
    page.page.wait_for_selector(".sd-proof[data-phase=done]")
    expect(proof.locator(".sd-measure-settings")).to_have_text("K 3 · temperature 0.8 · seed 3 · “the hand”")
    rows = proof.locator(".sd-proof-tests tbody tr")
    expect(rows.nth(0)).to_contain_text("first token")
    expect(rows.nth(1)).to_contain_text("the target alone")
    expect(proof.locator(".sd-sentences")).to_contain_text("No test can prove two laws equal.")
    expect(proof.locator("[data-figure=comparison] figcaption")).to_contain_text("40 runs each")
    always = proof.locator(".sd-proof-rules tbody tr", has_text="always accept")
    always.locator("input").check()
    expect(proof.locator("[data-figure=comparison] figcaption")).to_contain_text("LOSSY: always accept")
    rows.nth(0).locator("input").check()
    page.page.click(".sd-language")
    expect(proof.locator(".sd-sentences")).to_contain_text("任何检验都无法证明两个分布相等")
    expect(proof.locator("[data-figure=comparison] figcaption")).to_contain_text("各运行 40 次")


def test_a_check_can_be_stopped_and_begun_again_by_keyboard(serve, tab):
    endless = Endless()
    page = tab(serve(endless.pair)).set("the hand", seed=3)
    proof = opened(page, "proof")
    runs = proof.locator(".sd-proof-runs")
    runs.fill("20000")
    runs.press("Enter")
    expect(proof.locator(".sd-measure-text")).to_contain_text("of 20000", timeout=LIMIT_MS)
    page.page.keyboard.press("Escape")
    page.page.wait_for_selector(".sd-proof[data-phase=stopped]")
    expect(proof.locator(".sd-sentences")).to_contain_text("Stopped at")
    runs.fill("0")
    runs.press("Enter")
    page.page.wait_for_selector(".sd-proof[data-phase=failed]")
    expect(proof.locator(".sd-measure-text")).to_contain_text("it must be a whole number")
    runs.fill("")
    runs.press_sequentially("-")
    runs.press("Enter")
    expect(proof.locator(".sd-measure-text")).to_contain_text("not a number; it must be a whole number")
    runs.fill("5")
    runs.press("Enter")
    page.page.wait_for_selector(".sd-proof[data-phase=done]")


def test_a_closed_tab_frees_the_engine_from_its_check(serve, tab, monkeypatch):
    monkeypatch.setattr(measurement_module, "LEASE_S", 4.0)
    endless = Endless()
    server = serve(endless.pair)
    gone = tab(server, clean=False).set("the hand", seed=3)
    runs = opened(gone, "proof").locator(".sd-proof-runs")
    runs.fill("20000")
    runs.press("Enter")
    gone.page.wait_for_selector(".sd-proof-found:not([hidden])")
    gone.page.close()
    page = tab(server).set("and in", length=5).run().wait("done")
    assert page.tokens("plain").count() == 5


def test_does_it_pay_on_the_page_before_any_model(serve, tab):
    server = serve(tiny_pair())
    server.gate.clear()
    try:
        page = tab(server, figures=True)
        pay = opened(page, "pay")
        page.page.wait_for_selector(".sd-pay[data-drawn=recorded-english]")
        acceptance = measure(load(TRACES / "english.json.gz").rounds).acceptance
        expect(pay.locator(".sd-sentences")).to_contain_text(f"α = {acceptance:.3f}")
        for figure in ("speedup", "positions"):
            assert pay.locator(f"[data-figure={figure}] svg.main-svg").first.is_visible()
        before = pay.locator(".sd-pay-what-if").inner_text()
        pay.locator(".sd-pay-alpha input").focus()
        page.page.keyboard.press("End")
        expect(pay.locator(".sd-pay-alpha output")).to_have_text("1.00")
        expect(pay.locator(".sd-pay-what-if")).to_contain_text("With α = 1 ")
        pay.locator(".sd-pay-measured").click()
        expect(pay.locator(".sd-pay-what-if")).to_have_text(before)
    finally:
        server.gate.set()


def test_a_sweep_on_the_page(tiny, tab):
    page = tab(tiny).set("the hand", seed=3, length=8).run().wait("done")
    pay = opened(page, "pay")
    expect(pay.locator(".sd-sentences")).to_contain_text("this run")
    pay.locator(".sd-pay-turns").fill("1")
    pay.locator(".sd-pay-length").fill("6")
    pay.locator(".sd-measure-start").click()
    page.page.wait_for_selector(".sd-pay[data-phase=done]")
    expect(pay.locator(".sd-pay-sweep tbody tr")).to_have_count(6)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_tabs_that_measure(tiny, tab, scheme):
    page = tab(tiny, color_scheme=scheme, reduced_motion="reduce", figures=True).set("the hand", seed=3)
    proof = opened(page, "proof")
    proof.locator(".sd-proof-runs").fill("20")
    proof.locator(".sd-proof-runs").press("Enter")
    page.page.wait_for_selector(".sd-proof[data-phase=done]")
    proof.locator(".sd-proof-rules tbody tr", has_text="always accept").locator("input").check()
    expect(proof.locator("[data-figure=comparison] figcaption")).to_contain_text("LOSSY: always accept")
    assert violations(page.page) == []
    proof.locator(".sd-proof-runs").fill("0")
    proof.locator(".sd-proof-runs").press("Enter")
    page.page.wait_for_selector(".sd-proof[data-phase=failed]")
    assert violations(page.page) == []
    opened(page, "pay")
    page.page.wait_for_selector(".sd-pay[data-drawn=recorded-english]")
    assert violations(page.page) == []


class Brief(Here):
    """A place that gives no work more than a moment, as ZeroGPU does."""

    def _steps(self, work):
        with closing(super()._steps(work)) as steps:
            return (yield from within(steps, 0.3))


def test_a_measurement_that_is_cut_says_after_how_long(serve, tab):
    server = serve(Endless().pair)
    server.session.place = Brief(load=lambda spec, progress: server.pair)
    page = tab(server).set("the hand", seed=3)
    proof = opened(page, "proof")
    proof.locator(".sd-proof-runs").fill("20000")
    proof.locator(".sd-measure-start").click()
    expect(proof.locator(".sd-measure-text")).to_contain_text("Ended after 0.3 s")
    page.page.click(".sd-language")
    expect(proof.locator(".sd-measure-text")).to_contain_text("已在 0.3 秒后结束")
