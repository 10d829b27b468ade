"""The page in a real Chromium, served as it is for people, on tiny pairs and once on the embedded one."""

# ruff: noqa: F811

import copy
import itertools
from dataclasses import replace

import pytest
import torch
from browsing import NARROW, WIDE, Endless, Server, Tab, browser, serve, server, tab, tiny, written  # noqa: F401
from playwright.sync_api import expect
from spies import spied
from tiny import byte_tokenizer, tiny_pair

from specdemo.pace import USUAL_K
from specdemo.records import Outcome
from specdemo.trace import load
from specdemo.ui.serve import TRACES
from specdemo.view.numbers import show

#: What a model may write and a page must only show.
HOSTILE = (
    "<b>bold</b><img src=x onerror=alert(1)>${7*7}{{x}}`\\u202eRTL\u202e אב\u200bזx\n\n\t end"
    " & &lt; 你好 😀 <|im_start|>"
)

#: What of it is one token each.
PIECES = ("<b>bold</b>", "<img src=x onerror=alert(1)>", "${7*7}", "{{x}}", "&lt;", "\\u202eRTL\u202e")


class Script:
    """A model that wants to write `ids` after a prompt of `start` tokens, and then nothing but their last one."""

    device = torch.device("cpu")

    def __init__(self, ids, start, vocab_size):
        self._ids, self._start, self.vocab_size, self.length = ids, start, vocab_size, 0

    def rewind(self, length):
        self.length = min(self.length, length)

    def feed(self, ids):
        rows = torch.full((len(ids), self.vocab_size), -8.0)
        for i in range(len(ids)):
            place = self.length + i + 1 - self._start
            rows[i, self._ids[max(0, min(place, len(self._ids) - 1))]] = 8.0
        self.length += len(ids)
        return rows


def scripted(text: str, *pieces: str):
    """A pair whose target writes `text` and then stops, after a raw prompt of one letter; its draft errs at times.

    Each of `pieces` is one token.
    """
    tokenizer = copy.deepcopy(byte_tokenizer())
    tokenizer.add_tokens(list(pieces))
    ids = [*tokenizer.encode(text, add_special_tokens=False), 2]
    wrong = [i if place % 4 else (i + 1) % len(tokenizer) for place, i in enumerate(ids)]
    pair, size = tiny_pair(), len(tokenizer)
    return replace(
        pair,
        tokenizer=tokenizer,
        target=replace(pair.target, open=lambda: Script(ids, 1, size)),
        draft=replace(pair.draft, open=lambda: Script(wrong, 1, size)),
    )


# -- first paint ------------------------------------------------------------------------------------------------------


def test_the_recorded_run_is_there_before_any_model(serve, tab):
    server = serve(tiny_pair())
    server.gate.clear()
    try:
        page = tab(server, figures=True).wait("recorded")
        recorded = load(TRACES / "english.json.gz")
        assert page.text("spec") == written(recorded.rounds) and page.text("plain") == written(recorded.baseline)
        assert "recorded" in page.said()
        (picked,) = page.picked()
        expect(page.page.locator(f"#{picked}")).to_have_class("sd-tok sd-rejected sd-lost")
        page.wait_drawn(picked.removeprefix("sd-"))
        assert page.page.locator("[data-figure=residual] svg.main-svg").first.is_visible()
        page.run().wait("loading")
        expect(page.page.locator(".sd-phase-text")).to_have_text("Loading the models. Reading it …")
        server.gate.set()
        page.wait("done")
    finally:
        server.gate.set()


def test_how_the_models_come_is_told_without_a_run(serve, tab):
    server = serve(tiny_pair())
    server.gate.clear()
    server.session.preload()
    page = tab(server)
    expect(page.page.locator(".sd-pair summary")).to_have_text("Reading it …")
    server.gate.set()
    expect(page.page.locator(".sd-pair summary")).to_contain_text("tiny target")


def test_a_page_without_a_recording_is_empty_and_works(tab):
    server = Server(tiny_pair(), recorded=False)
    try:
        page = tab(server).wait("idle")
        assert page.tokens().count() == 0
        page.set("the hand", length=8).run().wait("done")
        assert page.tokens().count() > 0
    finally:
        server.close()


def test_a_page_at_rest_asks_for_no_frames(tiny, tab):
    """Seen: gradio's loading sign, long gone, asked for one after another, and each was drawn."""
    page = tab(tiny)
    page.page.add_init_script("""
        const native = window.requestAnimationFrame;
        window.asked = 0;
        window.requestAnimationFrame = (callback) => (window.asked++, native.call(window, callback));
    """)
    page.page.reload()
    page.page.wait_for_selector(".sd-inspector[data-drawn]")
    rests = "() => { const more = asked - (window.before ?? -99); window.before = asked; return more < 5; }"
    page.page.wait_for_function(rests, polling=500)  # 30 each time where it goes on


# -- a run ------------------------------------------------------------------------------------------------------------


def test_a_run_streams_and_its_text_is_the_decoding(serve, tab):
    endless = Endless()
    page = tab(serve(endless.pair)).set("the hand", length=120, seed=11)
    page.run().wait_tokens("plain", more_than=3)
    endless.go.clear()
    assert 3 < page.tokens("plain").count() < 120 and page.page.locator("body.sd-running").count() == 1
    endless.go.set()
    page.wait("done")
    trace = page.trace()
    assert page.text("spec") == written(trace.rounds) and page.text("plain") == written(trace.baseline)
    assert page.tokens("plain").count() == 120 == sum(len(round_.emitted) for round_ in trace.rounds)
    assert page.page.locator(".sd-settings").inner_text().endswith("seed 11")
    outcomes = page.tokens().evaluate_all("(all) => all.map((t) => t.className.split(' ')[1].slice(3))")
    assert outcomes == [event.outcome for round_ in trace.rounds for event in round_.events]


def test_numbers_are_those_of_the_trace(tiny, tab):
    page = tab(tiny).set("and the", length=40, seed=2).run().wait("done")
    trace = page.trace()
    events = [event.outcome for round_ in trace.rounds for event in round_.events]
    kept, judged = events.count("accepted"), events.count("accepted") + events.count("rejected")
    spec = page.page.locator(".sd-score[data-lane=spec]")
    expect(spec.locator(".sd-stat-acceptance span")).to_have_text(f"accepted: {kept} of {judged} judged")
    expect(spec.locator(".sd-stat-acceptance b")).to_have_text(f"{round(100 * kept / judged)} %")
    emitted = sum(len(round_.emitted) for round_ in trace.rounds)
    expect(spec.locator(".sd-stat-per_pass b")).to_have_text(f"{emitted / len(trace.rounds):.2f}")
    expect(page.page.locator(".sd-score[data-lane=plain] .sd-stat-per_pass b")).to_have_text("1.00")
    speed = [
        sum(len(r.emitted) for r in rounds) / sum(r.seconds for r in rounds)
        for rounds in (trace.rounds, trace.baseline)
    ]
    expect(page.page.locator(".sd-gain-number")).to_have_text(f"{speed[0] / speed[1]:.2f}×")
    assert page.page.locator(".sd-gain-why").inner_text().startswith("Slower") == (speed[0] < speed[1])
    assert page.page.locator(".sd-column").count() == len(trace.rounds)
    assert page.page.locator(".sd-cell").count() == len(events)


def test_stop_and_run_again(serve, tab):
    endless = Endless()
    page = tab(serve(endless.pair)).set("the hand", length=1000)
    page.run().wait_tokens(more_than=2)
    # The page need not wait for the stream to end: the server is told, and answers with what there is.
    with page.page.expect_response("**/specdemo/ask/stop"):
        page.page.click("#sd-stop")
    page.wait("stopped")
    passes = endless.passes
    stopped = page.trace()
    assert page.text() == written(stopped.rounds)
    expect(page.page.locator("body.sd-running")).to_have_count(0)
    page.set(length=12).run().wait("done")
    assert page.tokens("plain").count() == 12
    assert sum(target.passes for target in endless.targets[:2]) <= passes + 4, "the stopped run went on"


def test_stop_while_the_prompt_is_read(serve, tab):
    endless = Endless()
    endless.go.clear()
    page = tab(serve(endless.pair)).set("the hand " * 40).run().wait("prompt")
    page.page.click("#sd-stop")
    page.wait("stopped")
    endless.go.set()
    page.set("the hand", length=5).run().wait("done")


def test_a_run_asked_for_right_after_a_stop_is_written(serve, tab):
    page = tab(serve(Endless().pair)).set("the hand", length=1000)
    page.run().wait_tokens(more_than=2)
    page.set(length=12)
    for _ in range(3):  # in one task of the browser, so that no answer can come between
        page.page.evaluate(
            "['stop', 'run', 'run', 'stop', 'run'].forEach((id) => document.querySelector(`#sd-${id}`).click())"
        )
        page.wait("done")
        assert page.tokens("plain").count() == 12 == len(page.trace().baseline)


def test_of_many_runs_asked_for_at_once_one_is_written(serve, tab):
    endless = Endless()
    page = tab(serve(endless.pair)).set("the hand", length=12)
    page.page.evaluate("() => { for (let i = 0; i < 5; i++) document.querySelector('#sd-run').click(); }")
    page.wait("done")
    assert page.tokens("plain").count() == 12 and len(endless.targets) == 2, "a target for each lane of one run"


def test_two_tabs_one_waits_and_both_get_their_own(serve, tab):
    endless = Endless()
    server = serve(endless.pair)
    first, second = tab(server).set("the hand", length=1000), tab(server).set("and in", length=10, seed=3)
    first.run().wait_tokens(more_than=1)
    second.run().wait("waiting")
    assert "1" in second.said() and second.tokens().count() == 0
    first.page.click("#sd-stop")
    second.wait("done")
    assert second.trace().prompt == "and in" and first.trace().prompt == "the hand"
    assert second.text() == written(second.trace().rounds)


def test_a_closed_tab_frees_the_engine(serve, tab):
    endless = Endless()
    server = serve(endless.pair)
    gone = tab(server, clean=False).set("the hand", length=1000)
    gone.run().wait_tokens(more_than=1)
    gone.page.close()
    page = tab(server).set("and in", length=5).run().wait("done")
    assert page.tokens("plain").count() == 5
    assert max(target.passes for target in endless.targets) < 1000


def test_settings_out_of_range_are_told_and_nothing_else_changes(tiny, tab):
    page = tab(tiny).set("the hand", length=6).run().wait("done")
    before = page.text()
    page.set("again", **{"top-p": "7"}).run().wait("failed")
    assert page.said() == "Top-p is 7; it must be a number above 0 and at most 1."
    assert page.text() == before and page.page.input_value("#sd-prompt textarea") == "again"
    for length in ("0", "5000"):  # seen: gradio refused these itself, and the page waited for ever
        page.set(**{"top-p": "0.9"}, length=length).run()
        expect(page.page.locator(".sd-phase-text")).to_have_text(
            f"Length is {length}; it must be a whole number from 1 to 1,024."
        )
    page.set(length="6", **{"top-k": ""}).run()
    expect(page.page.locator(".sd-phase-text")).to_have_text(
        "Top-k is empty; it must be a whole number from 0 to 1,000,000."
    )
    page.set(" ", **{"top-k": "0"}).run()
    expect(page.page.locator(".sd-phase-text")).to_have_text("The prompt is empty; write at least one word.")
    expect(page.page.locator("body.sd-running")).to_have_count(0)
    page.set("again").run().wait("done")


RANGES = {
    "k": ("K", "a whole number from 0 to 16"),
    "temperature": ("Temperature", "a number from 0 to 5"),
    "length": ("Length", "a whole number from 1 to 1,024"),
    "seed": ("Seed", "a whole number from 0 to 2,147,483,647"),
    "top-k": ("Top-k", "a whole number from 0 to 1,000,000"),
    "top-p": ("Top-p", "a number above 0 and at most 1"),
    "min-p": ("Min-p", "a number from 0 to 1"),
}


@pytest.mark.parametrize("field", RANGES)
def test_what_is_typed_out_of_range_is_refused_by_its_value_and_stays(tiny, tab, field):
    """Seen: gradio made 16 of a K of 99, and 0 of an empty one, and the run began."""
    page = tab(tiny).set("the hand", length=4).wait("recorded")
    box = page.page.locator(f"#sd-{field} :is(input, textarea)").first
    name, legal = RANGES[field]
    # A browser keeps letters out of a field for numbers; of "-" in it, it tells only that this is none.
    empty, none = ("'-'", "'abc'") if field == "seed" else ("not a number", "empty")
    told = {"-1": "'-1'" if field == "seed" else "-1", "-": empty, "abc": none, "1e12": None}
    for typed, value in told.items() if field == "seed" else [*told.items(), ("", "empty")]:
        box.click()
        page.page.keyboard.press("ControlOrMeta+A")
        page.page.keyboard.press("Delete")
        box.press_sequentially(typed, delay=20)
        seen = box.input_value()
        page.run().wait("failed")
        value = value or {"seed": "'1e12'"}.get(field, str(float(seen)).removesuffix(".0"))
        expect(page.page.locator(".sd-phase-text")).to_have_text(f"{name} is {value}; it must be {legal}.")
        assert box.input_value() == seen and box.evaluate("(box) => box.validity.badInput") == (value == "not a number")


def test_an_engine_fault_is_one_sentence(serve, tab):
    def at(n):
        if n > 6:
            raise RuntimeError("the cable is out\n  File 'x.py'")

    broken, _ = spied(Endless().pair, at)
    page = tab(serve(broken)).set("the hand").run().wait("failed")
    assert page.said() == "The run failed inside the engine (RuntimeError: the cable is out)."
    assert page.tokens().count() > 0


def test_a_lost_server_is_told(serve, tab, monkeypatch):
    server = serve(tiny_pair())
    deltas = server.session.run

    def breaks(**fields):
        yield from itertools.islice(deltas(**fields), 3)
        raise ConnectionError("the server is gone")

    monkeypatch.setattr(server.session, "run", breaks)
    page = tab(server, clean=False).set("the hand", length=1000).run().wait("lost")
    expect(page.page.locator("body.sd-running")).to_have_count(0)
    monkeypatch.undo()
    page.set(length=5).run().wait("done")


# -- what is shown ----------------------------------------------------------------------------------------------------


def test_hostile_text_is_only_text(serve, tab):
    page = (
        tab(serve(scripted(HOSTILE, *PIECES)), figures=True)
        .set("x", k=2, length=400, chat=False, temperature=0)
        .run()
        .wait("done")
    )
    for lane in ("spec", "plain"):
        assert page.text(lane) == HOSTILE + "<|im_end|>"
    assert page.page.locator(".sd :is(b, img, script):not(.sd b, .sd-figure *)").count() == 0
    assert page.page.locator(".sd-pane").locator("b, img, i, a").count() == 0
    # each of its tokens can be looked at
    page.page.click(".sd-lane[data-lane=spec] .sd-tok.sd-rejected >> nth=2")
    page.wait_drawn(page.picked()[0].removeprefix("sd-"))
    assert page.page.locator(".sd-inspector").locator("img, a").count() == 0


def test_a_hostile_prompt_is_only_text(tiny, tab):
    page = tab(tiny).set(HOSTILE, length=5).run().wait("done")
    asked = page.page.locator(".sd-asked")
    assert asked.locator("q").text_content() == HOSTILE and asked.locator("q *").count() == 0
    assert asked.bounding_box()["height"] < 40, "a line of it, however long"
    asked.locator("summary").click()
    assert asked.bounding_box()["height"] > 40
    assert page.trace().prompt == HOSTILE


def test_what_cannot_be_seen_has_a_mark_that_is_no_text(serve, tab):
    page = tab(serve(scripted("a \n\u200b\t😀"))).set("x", length=99, chat=False, temperature=0).run().wait("done")
    marks = page.page.locator(".sd-lane[data-lane=plain] .sd-mark").evaluate_all(
        "(all) => all.map((m) => m.dataset.mark)"
    )
    assert marks[:3] == ["␣", "↵", "◦"] and "200B" in marks and "⇥" in marks
    assert page.text("plain") == "a \n\u200b\t😀<|im_end|>"
    face = page.page.locator(".sd-lane[data-lane=plain] .sd-tok", has_text="😀")
    assert face.count() == 1, "a character of several tokens stands whole on the last of them"


def test_refused_drafts_can_be_hidden_and_are_never_copied(tiny, tab):
    page = tab(tiny).set("the hand", length=30, seed=5).run().wait("done")
    pane = page.page.locator(".sd-lane[data-lane=spec] .sd-pane")
    selected = pane.evaluate("(p) => { getSelection().selectAllChildren(p); return getSelection().toString(); }")
    lost = page.page.locator(".sd-pane .sd-lost")
    assert lost.count() > 0 and lost.first.is_visible()
    assert len(selected) <= len(page.text()) + 2
    page.page.click(".sd-check")
    expect(lost.first).to_be_hidden()
    page.page.click(".sd-check")
    expect(lost.first).to_be_visible()


def test_panes_stay_at_their_end_unless_the_reader_scrolls(serve, tab):
    endless = Endless()
    page = tab(serve(endless.pair)).set("the hand", k=2, length=1000, temperature=2, seed=3)
    gap = "(p) => p.scrollHeight - p.scrollTop - p.clientHeight"
    pane = page.page.locator(".sd-lane[data-lane=spec] .sd-pane")
    page.run().wait_tokens(more_than=500)
    endless.go.clear()
    page.page.wait_for_timeout(300)
    assert pane.evaluate("(p) => p.scrollHeight > p.clientHeight + 100") and pane.evaluate(gap) < 4
    pane.evaluate("(p) => { p.scrollTop = 0; }")
    page.page.wait_for_timeout(100)
    endless.go.set()
    page.wait_tokens(more_than=page.tokens().count() + 60)
    assert pane.evaluate("(p) => p.scrollTop") == 0
    page.page.click("#sd-stop")
    page.wait("stopped")


def test_nothing_jumps_while_streaming(serve, tab):
    endless = Endless()
    page = tab(serve(endless.pair)).set("the hand", length=150)
    page.page.evaluate("""() => {
        // The rounds stand under the inspector, which is as high as the picked token's figures.
        const parts = [".sd-race", ".sd-scores", ".sd-inspector"].map((s) => document.querySelector(s));
        window.places = new Set();
        const look = () => {
            places.add(parts.map((part) => part.getBoundingClientRect().top).join());
            requestAnimationFrame(look);
        };
        look();
    }""")
    page.run().wait_tokens("plain", more_than=20)
    page.wait("done")
    assert page.page.evaluate("places.size") == 1, page.page.evaluate("[...places]")


# -- the inspector ----------------------------------------------------------------------------------------------------


def test_a_click_on_any_token_shows_its_figures(tiny, tab):
    page = tab(tiny, figures=True).set("the hand", length=30, seed=5).run().wait("done")
    seen = set()
    for lane in ("spec", "plain"):
        for place in range(page.tokens(lane).count()):
            token = page.tokens(lane).nth(place)
            outcome = token.get_attribute("class").split()[1].removeprefix("sd-")
            if outcome in seen:
                continue
            seen.add(outcome)
            token.click()
            page.wait_drawn(token.get_attribute("id").removeprefix("sd-"))
            assert page.picked() == [token.get_attribute("id")]
            expect(page.page.locator(".sd-verdict")).to_contain_text(outcome)
            shown = {
                name: page.page.locator(f"[data-figure={name}]").is_visible()
                for name in ("position", "coin", "residual")
            }
            judged = outcome in ("accepted", "rejected", "resampled")
            story = outcome in ("rejected", "resampled")
            assert shown == {"position": True, "coin": judged, "residual": story}
            assert page.page.locator(".sd-sentences dd").count() >= 2
    assert seen >= {"accepted", "rejected", "discarded", "resampled", "plain"}


def test_a_figure_shows_the_numbers_of_its_token(tiny, tab):
    page = tab(tiny, figures=True).set("the hand", length=20, seed=5).run().wait("done")
    trace = page.trace()
    round_ = next(r for r in trace.rounds if any(e.outcome is Outcome.REJECTED for e in r.events))
    place = next(i for i, event in enumerate(round_.events) if event.outcome is Outcome.REJECTED)
    page.page.click(f"#sd-spec-{round_.index}-{place}")
    page.wait_drawn(f"spec-{round_.index}-{place}")
    event = round_.events[place]
    texts = page.page.locator("[data-figure=position] text").all_text_contents()
    assert any(f"q {event.q:.3g}" in text or f"{event.q:.2e}"[:4] in text for text in texts)
    assert page.page.locator("[data-figure=coin] figcaption").inner_text().endswith("refused")
    names = page.page.locator(".sd-figure .ytick text")
    sticks_out = (
        "(all) => all.map((t) => t.closest('svg').getBoundingClientRect().left - t.getBoundingClientRect().left)"
    )
    assert max(names.evaluate_all(sticks_out)) <= 0, "the names before the rows have their room"


def test_the_strip_of_rounds_leads_to_its_tokens(tiny, tab):
    page = tab(tiny).set("the hand", length=30, seed=5).run().wait("done")
    page.page.locator(".sd-column").nth(3).locator(".sd-cell").first.click()
    assert page.picked() == ["sd-spec-3-0"]
    page.wait_drawn("spec-3-0")
    expect(page.page.locator(".sd-picked")).to_have_attribute("data-round", "3")


def test_the_keyboard_alone_is_enough(tiny, tab):
    page = tab(tiny)
    keys = page.page.keyboard
    page.page.focus("#sd-prompt textarea")
    keys.press("Control+A")
    keys.type("the hand")
    keys.press("Control+Enter")
    page.wait("done")
    for _ in range(60):
        if page.page.evaluate("document.activeElement.matches('[data-lane=spec] .sd-pane')"):
            break
        keys.press("Tab")
    pane = page.page.locator("[data-lane=spec] .sd-pane")
    assert pane.get_attribute("role") == "listbox"
    for key, there in [("Home", 0), ("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", -1), ("Home", 0)]:
        keys.press(key)
        expected = page.tokens().nth(there).get_attribute("id")
        assert page.picked() == [expected] == [pane.get_attribute("aria-activedescendant")]
    keys.press("ArrowDown")
    assert page.picked() == ["sd-spec-1-0"]
    keys.press("ArrowUp")
    assert page.picked() == ["sd-spec-0-0"]
    page.wait_drawn("spec-0-0")
    keys.press("Tab")
    keys.press("End")
    assert page.picked()[0].startswith("sd-plain-")
    page.wait_drawn(page.picked()[0].removeprefix("sd-"))


def test_escape_stops(serve, tab):
    endless = Endless()
    page = tab(serve(endless.pair)).set("the hand", length=1000)
    page.run().wait_tokens()
    page.page.keyboard.press("Escape")
    page.wait("stopped")


def test_only_the_last_of_many_picks_is_drawn(tiny, tab):
    page = tab(tiny).set("the hand", length=30, seed=5).run().wait("done")
    page.page.locator("[data-lane=plain] .sd-pane").focus()
    for _ in range(12):
        page.page.keyboard.press("ArrowRight")
    (picked,) = page.picked()
    page.wait_drawn(picked.removeprefix("sd-"))


# -- looks ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_system_and_the_switch(tiny, tab, scheme):
    page = tab(tiny, color_scheme=scheme, figures=True)

    def wait_for(dark):
        """Until ground and ink, that of the figures too, are of one theme."""
        page.page.wait_for_selector(".sd-inspector[data-drawn] [data-figure=position] .ytick text")
        page.page.wait_for_function(
            """(dark) => {
                const light = (part, property) => getComputedStyle(document.querySelector(part))[property]
                    .match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => a + +b, 0) > 382;
                return light("body", "backgroundColor") !== dark
                    && light(".sd h2", "color") === dark
                    && light("[data-figure=position] .ytick text", "fill") === dark;
            }""",
            arg=dark,
        )

    wait_for(scheme == "dark")
    page.page.click(".sd-theme")
    wait_for(scheme == "light")
    page.page.reload()
    wait_for(scheme == "light")


@pytest.mark.parametrize("viewport", [NARROW, WIDE, {"width": 1920, "height": 1080}, {"width": 800, "height": 600}])
def test_nothing_sticks_out_sideways(serve, tab, viewport):
    server = serve(scripted("x" * 300 + " the " * 40))
    page = tab(server, viewport=viewport, figures=True)
    page.page.wait_for_selector(".sd-inspector[data-drawn]")
    page.set("x", length=200, chat=False, temperature=0).run().wait("done")
    page.page.wait_for_selector(".sd-inspector[data-drawn]")
    widths = page.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    panes = page.page.locator(".sd-pane").evaluate_all("(all) => all.map((p) => p.scrollWidth - p.clientWidth)")
    assert panes == [0, 0]


def test_presets_fill_the_form(tiny, tab):
    page = tab(tiny)
    page.page.click(".sd-chip:has-text('中文')")
    expect(page.page.locator("#sd-prompt textarea")).to_have_value("用三句话解释为什么天空是蓝色的。")
    page.page.click(".sd-chip:has-text('Raw text')")
    page.page.click("#sd-more > button")
    expect(page.page.locator("#sd-chat input")).not_to_be_checked()
    page.set(length=6).run().wait("done")
    assert page.page.locator(".sd-settings").inner_text().endswith("raw text")


def test_k_may_be_chosen_by_itself(tiny, tab):
    page = tab(tiny).set("the hand", length=40, seed=3)
    slider = page.page.locator("#sd-k input[type=range]")
    page.page.check("#sd-auto input")
    expect(slider).to_be_disabled()
    page.run().wait("done")
    assert page.page.locator(".sd-settings").inner_text().startswith("K auto")
    assert page.trace().k is None
    page.page.uncheck("#sd-auto input")
    expect(slider).to_be_enabled()
    page.run().wait("done")
    assert page.trace().k == USUAL_K


# -- the scripts by themselves ----------------------------------------------------------------------------------------


def test_updates_may_come_twice_late_or_not_at_all(tiny, tab):
    page = tab(tiny)
    result = page.page.evaluate("""async () => {
        const { Log } = await import(new URL("specdemo/scripts/race/log.js", document.baseURI).href);
        const log = new Log([{ name: "accepted" }]);
        const row = (i) => [i, 1, [[0, `t${i}`, i, .5, .5, .1, .9]], [0, 0, 0, 0]];
        const take = (...rows) => log.take({ run: "a", spec: rows, phase: { name: "running" } });
        const out = [];
        out.push(take(row(0), row(1)).rounds.spec.length);
        out.push(take(row(0), row(1)).rounds.spec.length);            // twice
        out.push(take(row(1), row(2)).rounds.spec.length);            // overlapping
        out.push(take(row(5)).gap, log.rounds.spec.length);           // one was lost
        out.push(take(row(3), row(4), row(5)).rounds.spec.length);    // and came again
        out.push(log.rounds.spec.map((r) => r.events[0].text).join());
        out.push(log.take({ run: "b", plain: [row(0)] }).started, log.rounds.spec.length, log.since);
        return out;
    }""")
    texts = "t0,t1,t2,t3,t4,t5"
    assert result == [2, 0, 1, True, 3, 3, texts, True, 0, {"run": "b", "spec": 0, "plain": 1}]


def test_the_page_and_the_figures_write_a_probability_alike(tiny, tab):
    exponents = [10.0**-i for i in range(13)]
    numbers = [0.0, 1.0, *(x * m for x in exponents for m in (0.11784, 0.9996, 0.99996, 0.123456789, 0.999999999))]
    told = tab(tiny).page.evaluate(
        """async (numbers) => {
            const { probability } = await import(new URL("specdemo/scripts/shared/format.js", document.baseURI).href);
            return numbers.map((x) => probability(x));
        }""",
        numbers,
    )
    assert told == [show(x, 3) for x in numbers]


def test_what_is_late_changes_nothing(tiny, tab):
    page = tab(tiny)
    result = page.page.evaluate("""async () => {
        const { Log } = await import(new URL("specdemo/scripts/race/log.js", document.baseURI).href);
        const log = new Log([{ name: "accepted" }, { name: "plain" }]);
        const row = (i) => [i, 1, [[0, `t${i}`, i, .5, .5, .1, .9]], [0, 0, 0, 0]];
        const out = [];
        const news = log.take({ run: "a", spec: [row(0)], plain: [row(3)], phase: { name: "running" } });
        out.push(news.gap, news.rounds.spec.length);                  // a gap in one lane takes nothing from the other
        log.take({ run: "a", phase: { name: "stopped" } });
        log.take({ run: "a", phase: { name: "running" } });           // was on its way when the stop was told
        out.push(log.phase.name);
        log.take({ run: "b", phase: { name: "loading" } });
        out.push(log.phase.name);
        return out;
    }""")
    assert result == [True, 1, "stopped", "loading"]


def test_an_answer_about_another_run_is_passed_over(tiny, tab):
    """The server is silent for so long that the page asks; the answer comes when the run has long begun."""
    page = tab(tiny).set("the hand", length=6).run().wait("done")
    before = page.text()
    late = page.page.evaluate("""async () => {
        const { Stage } = await import(new URL("specdemo/scripts/race/stage.js", document.baseURI).href);
        const taken = [];
        const stage = Object.assign(Object.create(Stage.prototype), {
            log: { since: { run: "new" }, run: "new" }, take: (delta) => taken.push(delta.run),
        });
        await stage.ask(async () => ({ run: "old" }));
        await stage.ask(async () => null);
        await stage.ask(async () => ({ run: "new" }));
        return taken;
    }""")
    assert late == ["new"] and page.text() == before


def test_a_page_that_missed_updates_catches_up(serve, tab):
    """Updates are thrown away on their way to the page; it asks again for what it lacks."""
    endless = Endless()
    page = tab(serve(endless.pair))
    page.page.evaluate("""() => {
        const parse = JSON.parse;
        let n = 0;
        JSON.parse = (text, ...rest) => {
            const value = parse(text, ...rest);
            if (value?.run && value.spec && value.phase?.name === "running" && ++n % 2) delete value.spec;
            return value;
        };
    }""")
    page.set("the hand", length=120).run().wait("done")
    trace = page.trace()
    assert page.text("spec") == written(trace.rounds) and page.text("plain") == written(trace.baseline)


def test_the_embedded_pair_on_the_page(tab):
    server = Server()
    try:
        page = tab(server)
        page.page.set_default_timeout(600_000)
        page.set("Explain why the sky is blue.", length=24, seed=1).run().wait("done")
        trace = page.trace()
        assert page.text() == written(trace.rounds) and page.text("plain") == written(trace.baseline)
        assert "SmolLM2-135M" in page.page.locator(".sd-pair summary").inner_text()
        for round_ in trace.rounds:
            for event in round_.events:
                if event.outcome in (Outcome.ACCEPTED, Outcome.REJECTED):
                    assert (event.u * event.q < event.p) == (event.outcome is Outcome.ACCEPTED)
    finally:
        server.close()
