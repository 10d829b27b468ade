"""Runs on the page, in a real Chromium: replayed, opened from files, linked to, and left at a token."""

import gzip
import json
import math
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import NARROW, WIDE, Endless, browser, serve, server, tab, tiny, written  # noqa: F401
from playwright.sync_api import expect
from test_library import hostile
from tiny import tiny_pair

from specdemo.pace import USUAL_K
from specdemo.records import Outcome
from specdemo.session.session import MAX_FILE
from specdemo.trace import load, save, to_json
from specdemo.ui.serve import TRACES
from specdemo.view.profile import profile

JUDGED = (Outcome.ACCEPTED, Outcome.REJECTED)


def recording(name="english"):
    return load(TRACES / f"{name}.json.gz")


def moments(trace):
    """What a replay shows, by the records: (seconds, lane, {token's id: state}) in the order of time.

    Written apart from the page's own script; the state is "pending" or the outcome.
    """
    told = []
    for lane, rounds in (("spec", trace.rounds), ("plain", trace.baseline)):
        clock = 0.0
        for round_ in map(as_told, rounds):
            clock += round_.prefill_s
            name = [f"sd-{lane}-{round_.index}-{i}" for i in range(len(round_.events))]
            for i in range(round_.k):
                told.append((clock + round_.draft_s * (i + 1) / round_.k, lane, {name[i]: "pending"}))
            clock += round_.draft_s + round_.verify_s
            judged = [i for i, event in enumerate(round_.events) if event.outcome in JUDGED]
            lost = {name[i]: "discarded" for i, e in enumerate(round_.events) if e.outcome is Outcome.DISCARDED}
            parts = len(judged) + len(round_.events) - round_.k
            for n, i in enumerate(judged, start=1):
                shown = {name[i]: str(round_.events[i].outcome)}
                told.append((clock + round_.other_s * n / parts, lane, shown | (lost if i == judged[-1] else {})))
            clock += round_.other_s
            told += [(clock, lane, {name[i]: str(round_.events[i].outcome)}) for i in range(round_.k, len(name))]
    return sorted(told, key=lambda moment: moment[0])


def as_told(round_):
    """The page knows five digits of each time."""
    names = ("draft_s", "verify_s", "other_s", "prefill_s")
    return replace(round_, **{name: float(f"{getattr(round_, name):.5g}") for name in names})


SHOWN = """(tokens) => Object.fromEntries(
  tokens.filter((t) => getComputedStyle(t).visibility === "visible")
        .map((t) => [t.id, t.classList.contains("sd-pending") ? "pending" : t.classList[1].slice(3)]))"""


def shown(page):
    return page.page.locator(".sd-pane .sd-tok").evaluate_all(SHOWN)


def states(told):
    together = {}
    for _, _, change in told:
        together |= change
    return together


def at(page):
    return int(page.page.locator(".sd-slider").input_value())


# -- the replay -------------------------------------------------------------------------------------------------------


def test_a_recorded_run_is_stepped_by_keyboard_as_its_records_say(server, tab):  # noqa: F811
    page = tab(server).wait("recorded")
    told, keys = moments(recording()), page.page.keyboard
    page.page.focus(".sd-slider")
    keys.press("Home")
    assert shown(page) == {} and at(page) == 0
    steps = [i for i, (_, lane, _) in enumerate(told, start=1) if lane == "spec"][:14]
    for position in steps:
        keys.press("ArrowRight")
        assert at(page) == position and shown(page) == states(told[:position])
    for position in reversed(steps[:-1]):
        keys.press("ArrowLeft")
        assert shown(page) == states(told[:position])
    page.page.locator(".sd-slider").evaluate(
        "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }", len(told) // 2
    )
    assert shown(page) == states(told[: len(told) // 2])
    keys.press("End")
    assert at(page) == len(told) and shown(page) == states(told)
    expect(page.page.locator(".sd-replaying")).to_have_count(0)


def test_a_round_at_a_time_ends_with_its_last_token(server, tab):  # noqa: F811
    page = tab(server).wait("recorded")
    trace, keys = recording(), page.page.keyboard
    page.page.focus(".sd-slider")
    keys.press("Home")
    for round_ in trace.rounds[:5]:
        keys.press("ArrowDown")
        assert page.picked() == [f"sd-spec-{round_.index}-{len(round_.events) - 1}"]
    keys.press("ArrowUp")
    assert page.picked() == [f"sd-spec-3-{len(trace.rounds[3].events) - 1}"]


def test_the_inspector_follows_and_tells_nothing_before_the_verdict(server, tab):  # noqa: F811
    page = tab(server, figures=True).wait("recorded")
    keys, verdict = page.page.keyboard, page.page.locator(".sd-verdict")
    page.page.focus(".sd-slider")
    keys.press("Home")
    keys.press("ArrowRight")
    expect(verdict).to_contain_text("drafted")
    assert page.page.locator(".sd-value-q").is_visible() and page.page.locator(".sd-value-p").count() == 0
    expect(page.page.locator("[data-figure=coin]")).to_be_hidden()
    for _ in range(recording().rounds[0].k):
        keys.press("ArrowRight")
    page.wait_drawn("spec-0-0")
    expect(verdict).to_contain_text(str(recording().rounds[0].events[0].outcome))
    expect(page.page.locator("[data-figure=coin]")).to_be_visible()


def test_play_pause_and_the_end(server, tab):  # noqa: F811
    page = tab(server).wait("recorded")
    keys = page.page.keyboard
    page.page.select_option(".sd-speed", "4")
    page.page.focus(".sd-slider")
    keys.press("Home")
    keys.press("Space")
    page.page.wait_for_function("document.querySelector('.sd-slider').value > 20")
    keys.press("Space")
    expect(page.page.locator(".sd-play")).to_have_attribute("aria-pressed", "false")
    stopped = at(page)
    assert shown(page) == states(moments(recording())[:stopped])
    page.page.wait_for_timeout(300)
    assert at(page) == stopped
    keys.press("End")
    for _ in range(6):
        keys.press("ArrowLeft")
    keys.press("Space")
    page.page.wait_for_function(
        "document.querySelector('.sd-slider').value === document.querySelector('.sd-slider').max"
    )
    expect(page.page.locator(".sd-play")).to_have_attribute("aria-pressed", "false")


def test_nothing_moves_while_a_run_is_replayed(server, tab):  # noqa: F811
    page = tab(server).wait("recorded")
    places = """() => [".sd-race", ".sd-playbar", ".sd-legend", ".sd-inspector", "#sd-spec-3-0", "#sd-spec-40-0"]
        .map((part) => document.querySelector(part).getBoundingClientRect())
        .map((box, i) => i < 4 ? box.top : box.left).join()"""
    page.page.focus(".sd-slider")
    page.page.keyboard.press("Home")
    seen = set()
    for _ in range(30):
        page.page.keyboard.press("ArrowRight")
        seen.add(page.page.evaluate(places))
    assert len(seen) == 1, seen


def test_a_live_run_can_be_replayed_once_it_is_done(serve, tab):  # noqa: F811
    endless = Endless()
    page = tab(serve(endless.pair)).set("the hand", length=60)
    page.run().wait_tokens(more_than=3)
    expect(page.page.locator(".sd-slider")).to_be_disabled()
    page.wait("done")
    expect(page.page.locator(".sd-slider")).to_be_enabled()
    page.page.focus(".sd-slider")
    page.page.keyboard.press("Home")
    for _ in range(12):
        page.page.keyboard.press("ArrowRight")
    assert shown(page) == states(moments(page.trace())[: at(page)])
    page.set(length=5).run().wait("done")
    expect(page.page.locator(".sd-unwritten")).to_have_count(0)


# -- other runs than the last one -------------------------------------------------------------------------------------


def test_recorded_runs_and_those_of_the_visit_are_in_the_menu(tiny, tab):  # noqa: F811
    page = tab(tiny).set("the hand", length=12, seed=3).run().wait("done")
    text = page.text()
    for name in ("chinese", "poor"):
        page.page.click(".sd-runs summary")
        page.page.click(f"[data-run=recorded-{name}]")
        expect(page.page.locator(f".sd[data-recording={name}]")).to_have_count(1)
        assert page.text() == written(recording(name).rounds)
    page.page.click(".sd-runs summary")
    page.page.click(".sd-runs-visit .sd-run-item")
    expect(page.page.locator(".sd[data-recording='']")).to_have_count(1)
    assert page.text() == text and "Finished" in page.said()


def test_a_saved_run_opens_by_file_and_by_drop(server, tab, tmp_path):  # noqa: F811
    trace = recording("code")
    (tmp_path / "run.json").write_text(to_json(trace), "ascii")
    page = tab(server, figures=True).wait("recorded")
    page.page.set_input_files(".sd-runs input[type=file]", tmp_path / "run.json")
    page.page.wait_for_function("(n) => document.querySelectorAll('.sd-column').length === n", arg=len(trace.rounds))
    assert page.text() == written(trace.rounds) and page.text("plain") == written(trace.baseline)
    opened = "A saved run, opened from run.json. Press Run for your own."
    expect(page.page.locator(".sd-phase-text")).to_have_text(opened)
    page.page.click("#sd-spec-3-0")
    page.wait_drawn("spec-3-0")
    page.page.click(".sd-runs summary")
    page.page.click("[data-run=recorded-chinese]")
    expect(page.page.locator(".sd-phase-text")).to_have_text("A recorded run. Press Run for your own.")
    page.page.click(".sd-runs summary")
    page.page.click(".sd-runs-visit .sd-run-item:has-text('1, from run.json: ')")
    expect(page.page.locator(".sd-phase-text")).to_have_text(opened)
    drop(page, to_json(recording("poor")))
    page.page.wait_for_function(
        "(n) => document.querySelectorAll('.sd-column').length === n", arg=len(recording("poor").rounds)
    )
    assert page.page.locator(".sd-run-item[aria-current=true]").count() == 1


@pytest.mark.parametrize("name", ["run.json.gz", "run.json"])
def test_a_packed_run_opens_by_what_it_is_not_by_its_name(server, tab, tmp_path, name):  # noqa: F811
    trace = recording("code")
    save(tmp_path / "run.json.gz", trace)
    page = tab(server).wait("recorded")
    choose(page, (tmp_path / "run.json.gz").read_bytes(), name)
    page.page.wait_for_function("(n) => document.querySelectorAll('.sd-column').length === n", arg=len(trace.rounds))
    assert page.text() == written(trace.rounds) and page.text("plain") == written(trace.baseline)


@pytest.mark.parametrize("harm", [lambda raw: raw[:-9], lambda raw: raw[:99] + b"?" + raw[100:], lambda raw: raw[:2]])
def test_a_broken_packed_file_is_told_as_such(server, tab, harm):  # noqa: F811
    page = tab(server).wait("recorded")
    before = page.page.locator(".sd-race").inner_html()
    choose(page, harm(gzip.compress(to_json(recording("code")).encode())))
    expect(page.page.locator(".sd-phase-text")).to_have_text("That file cannot be decompressed.")
    assert page.page.locator(".sd-race").inner_html() == before


def test_a_mountain_of_zeros_in_a_small_file_is_not_unpacked(server, tab):  # noqa: F811
    page = tab(server).wait("recorded")
    page.page.evaluate(
        """() => {
            const Whole = DecompressionStream;
            window.fed = 0;
            window.DecompressionStream = class {
                constructor(format) {
                    const whole = new Whole(format);
                    const count = (chunk, out) => { window.fed += chunk.length; out.enqueue(chunk); };
                    const counted = new TransformStream({ transform: count });
                    this.writable = counted.writable;
                    this.readable = counted.readable.pipeThrough(whole);
                }
            };
        }"""
    )
    bomb = gzip.compress(bytes(12 * MAX_FILE), 9)
    choose(page, bomb)
    expect(page.page.locator(".sd-phase-text")).to_contain_text("it is larger than 16 MiB")
    assert MAX_FILE / 1032 < page.page.evaluate("window.fed") < 2 * MAX_FILE / 1032 < len(bomb) / 5


def choose(page, raw, name="run.json.gz"):
    file = {"name": name, "mimeType": "application/octet-stream", "buffer": raw}
    page.page.set_input_files(".sd-runs input[type=file]", file)


def drop(page, text):
    page.page.evaluate(
        """(text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "run.json"));
            const drag = (name) => new DragEvent(name, { dataTransfer: data, bubbles: true, cancelable: true });
            for (const name of ["dragover", "drop"]) document.querySelector(".sd").dispatchEvent(drag(name));
        }""",
        text,
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_hostile_file_gets_a_message_in_the_page_s_language_and_changes_nothing(server, tab, language):  # noqa: F811
    page = tab(server, query=f"?lang={language}").wait("recorded")
    before = page.page.locator(".sd-race").inner_html()
    kinds = ["nothing", "truncated", "another format", "deep lists", "scripts in a wrong place", "too large"]
    files = hostile()
    for kind in kinds:
        drop(page, files[kind])
        page.wait("failed")
        said = page.said()
        assert len(said) > 10 and ("无法" in said or "不是" in said or "必须" in said) == (language == "zh"), said
        assert page.page.locator(".sd-race").inner_html() == before
        page.page.evaluate("document.querySelector('.sd-say').dataset.phase = ''")
    assert page.page.locator(".sd img, .sd script").count() == 0


@pytest.mark.parametrize("viewport", [WIDE, NARROW])
def test_an_answer_is_seen_from_where_the_question_was_asked(server, tab, viewport):  # noqa: F811
    page = tab(server, viewport=viewport).wait("recorded")
    page.page.evaluate("scrollTo(0, document.body.scrollHeight)")
    expect(page.page.locator(".sd-phase")).not_to_be_in_viewport()
    drop(page, "no run")
    page.wait("failed")
    expect(page.page.locator(".sd-phase")).to_be_in_viewport()


def test_what_cannot_be_read_or_is_no_text_is_told_as_such(server, tab):  # noqa: F811
    page = tab(server).wait("recorded")
    drop(page, "")
    page.wait("failed")
    page.page.evaluate("() => { File.prototype.text = () => Promise.reject(new DOMException('', 'NotReadableError')); }")
    drop(page, "anything")
    expect(page.page.locator(".sd-phase-text")).to_have_text("That file cannot be read.")


def test_a_large_file_of_control_characters_is_refused_as_no_json(server, tab):  # noqa: F811
    page = tab(server).wait("recorded")
    page.page.evaluate("() => { File.prototype.text = async () => '{' + '\\0'.repeat(9 * 2 ** 20); }")
    drop(page, "{")
    page.wait("failed")
    assert "not JSON" in page.said()


# -- what if ----------------------------------------------------------------------------------------------------------


def test_the_verdict_changes_at_the_boundary_and_only_there(server, tab):  # noqa: F811
    trace = recording()
    round_, place, event = next(
        (r, i, e) for r in trace.rounds for i, e in enumerate(r.events) if e.outcome is Outcome.REJECTED and e.p > 0.01
    )
    page = tab(server, figures=True).wait("recorded")
    page.page.click(f"#sd-spec-{round_.index}-{place}")
    page.wait_drawn(f"spec-{round_.index}-{place}")
    number, verdict = page.page.locator(".sd-whatif input[type=number]"), page.page.locator(".sd-whatif-verdict")
    edge = event.p / event.q
    us = [math.nextafter(edge, 0), edge, math.nextafter(edge, 1), 0, 1]
    for u in us:
        number.fill(repr(u))
        number.press("Enter")
        kept = u * event.q < event.p
        expect(verdict).to_contain_text("would be kept" if kept else "would be refused")
        expect(page.page.locator("[data-figure=residual]")).to_be_visible(visible=not kept)
    assert {u * event.q < event.p for u in us} == {True, False}
    for typed in ("5", "-0.5", ""):
        number.fill(typed)
        number.press("Enter")
        expect(verdict).to_have_text(f"u is {typed or 'empty'}; it must be a number from 0 to 1.")
        expect(number).to_have_value(typed)
    page.page.click(".sd-whatif-back")
    expect(verdict).to_contain_text("as it was thrown")
    expect(page.page.locator(".sd-hypothetical")).to_have_count(0)
    assert float(number.input_value()) == pytest.approx(event.u, rel=1e-4)


def test_the_coin_is_moved_by_keyboard(server, tab):  # noqa: F811
    page = tab(server, figures=True).wait("recorded")
    page.wait_drawn(page.picked()[0].removeprefix("sd-"))
    slider = page.page.locator(".sd-whatif input[type=range]")
    slider.focus()
    page.page.keyboard.press("Home")
    expect(page.page.locator(".sd-whatif-verdict")).to_contain_text("would be kept")
    page.page.keyboard.press("End")
    expect(page.page.locator(".sd-whatif-verdict")).to_contain_text("would be refused")


def test_a_fork_goes_on_from_the_text_before_it(tiny, tab):  # noqa: F811
    page = tab(tiny).set("the hand", length=24, seed=5).run().wait("done")
    first = page.trace()
    page.page.click("#sd-spec-4-0")
    page.wait_drawn("spec-4-0")
    page.page.locator(".sd-fork option").nth(1).wait_for(state="attached")
    page.page.locator(".sd-fork select").select_option(index=1)
    token = int(page.page.locator(".sd-fork select").input_value())
    page.page.click(".sd-fork-token")
    page.page.wait_for_selector(".sd-given")
    page.wait("done")
    trace = page.trace()
    before = [event.token_id for round_ in first.rounds[:4] for event in round_.emitted]
    assert list(trace.fork.ids) == [*before, token] and trace.prompt_ids == first.prompt_ids
    for lane, rounds in (("spec", trace.rounds), ("plain", trace.baseline)):
        pane = page.page.locator(f".sd-lane[data-lane={lane}] .sd-given")
        assert pane.text_content() == trace.fork.before + trace.fork.given
        assert page.text(lane) == written(rounds)
    assert "round 5" in page.page.locator(".sd-settings").inner_text()
    page.page.click(".sd-runs summary")
    names = page.page.locator(".sd-runs-visit .sd-run-item").all_inner_texts()
    assert len(names) == 2 and names[1].startswith("2: branched off run 1 in round 5")
    page.page.click(".sd-runs-visit .sd-run-item >> nth=0")
    expect(page.page.locator(".sd-given")).to_have_count(0)
    assert page.text() == written(first.rounds)


def test_a_fork_by_the_same_coin_writes_the_token_of_the_run(serve, tab):  # noqa: F811
    """Seen: for a refused draft another token of the residual, which nobody had asked for."""
    page = tab(serve(tiny_pair())).set("the hand", length=60, seed=5).run().wait("done")
    first = page.trace()
    how, seen = page.page.locator(".sd-fork-how"), []
    for outcome in (Outcome.REJECTED, Outcome.ACCEPTED):
        round_, place, event = next((r, i, e) for r in first.rounds for i, e in enumerate(r.events) if e.outcome is outcome)
        instead = next((e for e in round_.events if e.outcome is Outcome.RESAMPLED), event)
        page.page.click(f"#sd-spec-{round_.index}-{place}")
        page.page.wait_for_function("!document.querySelector('.sd-fork-token').disabled")
        if outcome is Outcome.REJECTED:
            expect(how).to_contain_text(f"“{instead.text}”, which this run drew from the residual")
        else:
            expect(how).to_have_text("The draft stays; all after it is drawn anew.")
            page.page.locator(".sd-whatif input[type=number]").fill("1")
            page.page.locator(".sd-whatif input[type=number]").press("Enter")
            refused = event.q >= event.p
            expect(how).to_contain_text("a token is drawn anew" if refused else "The draft stays")
            page.page.click(".sd-whatif-back")
            expect(how).to_have_text("The draft stays; all after it is drawn anew.")
        page.page.click(".sd-fork-coin")
        page.page.wait_for_selector(".sd-given")
        page.wait("done")
        seen.append(page.trace().fork.ids[-1] == (instead if outcome is Outcome.REJECTED else event).token_id)
        page.page.click(".sd-runs summary")
        page.page.click(".sd-runs-visit .sd-run-item >> nth=0")
        expect(page.page.locator(".sd-given")).to_have_count(0)
    assert seen == [True, True]


def test_a_fork_by_another_coin(serve, tab):  # noqa: F811
    page = tab(serve(tiny_pair())).set("the hand", length=24, seed=5).run().wait("done")
    first = page.trace()
    round_, place, event = next(
        (r, i, e) for r in first.rounds for i, e in enumerate(r.events) if e.outcome is Outcome.REJECTED and e.p > 0
    )
    page.page.click(f"#sd-spec-{round_.index}-{place}")
    page.page.locator(".sd-whatif input[type=number]").fill("0")
    page.page.locator(".sd-whatif input[type=number]").press("Enter")
    page.page.click(".sd-fork-coin")
    page.page.wait_for_selector(".sd-given")
    page.wait("done")
    fork = page.trace().fork
    assert fork.u == 0 and fork.ids[-1] == event.token_id and fork.round == round_.index


# -- links ------------------------------------------------------------------------------------------------------------


def form(page):
    return {
        "prompt": page.page.locator("#sd-prompt textarea").input_value(),
        "k": page.page.locator("#sd-k input").first.input_value(),
    }


def test_a_link_carries_the_settings_and_hides_parts(tiny, tab):  # noqa: F811
    page = tab(tiny, query="?prompt=the+hand&k=3&seed=9&length=6&run=code&hide=models,legend,target,nothing")
    expect(page.page.locator(".sd[data-recording=code]")).to_have_count(1)
    expect(page.page.locator("#sd-prompt textarea")).to_have_value("the hand")
    assert form(page) == {"prompt": "the hand", "k": "3"}
    for hidden in ("#sd-models", ".sd-legend", ".sd-lane[data-lane=plain]"):
        expect(page.page.locator(hidden)).to_be_hidden()
    for there in ("#sd-prompt", ".sd-lane[data-lane=spec]", ".sd-inspector", ".sd-player"):
        expect(page.page.locator(there)).to_be_visible()
    page.run().wait("done")
    trace = page.trace()
    assert (trace.prompt, trace.k, trace.params.seed, trace.params.max_new_tokens) == ("the hand", 3, 9, 6)


def test_the_link_that_is_copied_leads_to_the_same_settings(tiny, tab):  # noqa: F811
    page = tab(tiny, permissions=["clipboard-read", "clipboard-write"]).set("a & b = 你?", k=5, seed=12, length=6)
    page.page.click("#sd-link")
    expect(page.page.locator("#sd-link[data-copied]")).to_have_count(1)
    link = page.page.evaluate("navigator.clipboard.readText()")
    said = parse_qs(urlsplit(link).query, keep_blank_values=True)
    assert sorted(said) == ["k", "length", "prompt", "run", "seed", "tab"]
    other = tab(tiny, query=link.removeprefix(tiny.url))
    expect(other.page.locator("#sd-prompt textarea")).to_have_value("a & b = 你?")
    assert form(other) == form(page)
    trace = other.run().wait("done").trace()
    assert (trace.prompt, trace.k, trace.params.seed, trace.params.max_new_tokens) == ("a & b = 你?", 5, 12, 6)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("k=99", "K is 99"),
        ("temperature=abc", "Temperature is 'abc'"),
        ("length=-3", "Length is -3"),
        ("seed=x", "Seed is"),
    ],
)
def test_what_a_link_asks_too_much_is_refused_as_in_the_form(tiny, tab, query, sentence):  # noqa: F811
    page = tab(tiny, query=f"?{query}&run=../x&tab=<b>&hide=<img>", clean=False)
    expect(page.page.locator("#sd-prompt textarea")).not_to_have_value("")
    page.page.wait_for_timeout(300)
    page.run().wait("failed")
    assert sentence in page.said()
    assert page.page.locator(".sd :is(img, script)").count() == 0


@pytest.mark.parametrize(("value", "is_on"), [("0", False), ("false", False), ("1", True), ("true", True)])
def test_a_link_says_whether_k_is_chosen_by_itself(tiny, tab, value, is_on):  # noqa: F811
    page = tab(tiny, query=f"?auto={value}&length=4&prompt=the+hand")
    expect(page.page.locator("#sd-prompt textarea")).to_have_value("the hand")
    expect(page.page.locator("#sd-auto input")).to_be_checked(checked=is_on)
    page.run().wait("done")
    assert page.trace().k == (None if is_on else USUAL_K)


def test_where_the_time_went_is_drawn_when_somebody_asks(server, tab):  # noqa: F811
    page = tab(server, figures=True).wait("recorded")
    page.page.click(".sd-timing summary")
    page.page.wait_for_selector(".sd-timing[data-drawn] svg.main-svg")
    assert json.loads(page.page.locator(".sd-timing").get_attribute("data-drawn"))["current"] is not None


def test_the_parts_of_the_mean_round_and_of_the_picked_one_are_told(server, tab):  # noqa: F811
    """As a table, by the records; in the language that is chosen, and by the round that is."""
    page = tab(server, figures=True).wait("recorded")
    page.page.click(".sd-timing summary")
    table = page.page.locator(".sd-profile table")
    expect(table.locator("tbody tr")).to_have_count(6)
    page.page.wait_for_selector(".sd-timing[data-drawn]")  # the figure comes after the table
    current = json.loads(page.page.locator(".sd-timing").get_attribute("data-drawn"))["current"]
    told = profile(recording().rounds, current=current)
    assert table.locator("thead th").all_text_contents() == told["columns"]
    for row, (_, name, meaning, cells) in zip(table.locator("tbody tr").all(), told["rows"]):
        assert row.locator("th").text_content() == name + meaning
        assert row.locator("td").all_text_contents() == [f"{ms} {percent}" for ms, _, percent in cells]
    page.page.click("#sd-spec-0-0")
    expect(table.locator("thead th").last).to_have_text("round 1")
