"""A trace reads back exactly, and nothing but a whole and consistent one is read."""

import gzip
import json
import math
import os
import re
import random
import stat
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdemo import trace as traces
from specdemo.files import check_writable
from specdemo.records import Fork, Outcome, Round, SamplingParams, TokenEvent, TopRow, Trace
from specdemo.trace import from_bytes, from_json, load, save, to_json

A, R, D, S, B, P = (
    Outcome.ACCEPTED,
    Outcome.REJECTED,
    Outcome.DISCARDED,
    Outcome.RESAMPLED,
    Outcome.BONUS,
    Outcome.PLAIN,
)

# --- any valid trace -------------------------------------------------------------------------------------------------

masses = st.floats(0, 1)
ids = st.integers(0, 2**31 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
seconds = st.floats(0, 1e6)


@st.composite
def events(draw, outcome: Outcome) -> TokenEvent:
    q = masses if outcome not in (B, P) else st.none()
    return TokenEvent(
        token_id=draw(ids),
        outcome=outcome,
        p=draw(masses),
        q=draw(q),
        u=draw(masses) if outcome in (A, R) else None,
        alpha=draw(q),
        top=tuple(draw(st.lists(st.builds(TopRow, ids, texts, masses, q), max_size=3))),
        rest=(draw(masses), draw(q)),
        text=draw(texts),
    )


@st.composite
def rounds(draw, index: int, outcomes: list[Outcome]) -> Round:
    k = sum(outcome in (A, R, D) for outcome in outcomes)
    made = tuple(draw(events(outcome)) for outcome in outcomes)
    draft, verify, prefill, judge, look, python = (draw(seconds) for _ in range(6))
    return Round(index, k, made, draft, verify, judge + look + python, prefill, judge, look)


def whole_round(k: int, kept: int) -> list[Outcome]:
    return [A] * k + [B] if kept == k else [A] * kept + [R] + [D] * (k - kept - 1) + [S]


@st.composite
def trace_of(draw) -> Trace:
    shapes = draw(st.lists(st.integers(0, 4).flatmap(lambda k: st.tuples(st.just(k), st.integers(0, k))), max_size=4))
    lane = [whole_round(*shape) for shape in shapes]
    if lane and draw(st.booleans()):
        lane[-1] = [A] + [D] * draw(st.integers(0, 3))
    params = st.builds(
        SamplingParams,
        temperature=st.floats(0, 1e300),
        top_k=st.integers(0, 2**63 - 1),
        top_p=st.floats(0, 1, exclude_min=True),
        min_p=masses,
        seed=st.none() | st.integers(0, 2**63 - 1),
        max_new_tokens=st.integers(0, 10**6),
    )
    facts = st.dictionaries(texts, texts | st.integers(-(2**53), 2**53) | st.floats(-1e18, 1e18), max_size=3)
    fork = st.builds(
        Fork,
        st.sampled_from(["spec", "plain"]),
        st.integers(0, 99),
        st.integers(0, 9),
        st.lists(ids, min_size=1, max_size=3).map(tuple),
        texts,
        texts,
        st.none() | masses,
    )
    return Trace(
        pair=draw(facts),
        params=draw(params),
        k=draw(st.integers(0, 16)),
        prompt=draw(texts),
        prompt_ids=tuple(draw(st.lists(ids, max_size=5))),
        rounds=tuple(draw(rounds(i, outcomes)) for i, outcomes in enumerate(lane)),
        baseline=tuple(draw(rounds(i, [P])) for i in range(draw(st.integers(0, 3)))),
        fork=draw(st.none() | fork),
    )


@given(trace_of())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_trace_reads_back_exactly(trace: Trace) -> None:
    text = to_json(trace)
    assert text.isascii()
    assert from_json(text) == trace


def test_floats_read_back_to_the_last_bit() -> None:
    rng = random.Random(1)
    values = [5e-324, sys.float_info.min, 1 / 3, math.nextafter(1, 0), *(rng.random() ** 20 for _ in range(50))]
    events = tuple(TokenEvent(i, A, p, p, p, p, (TopRow(i, "", p, p),), (p, p)) for i, p in enumerate(values))
    round_ = Round(0, len(values), (*events, TokenEvent(0, B, 1.0)), *values[:4])
    (back,) = from_json(to_json(replace(SMALL, rounds=(round_,)))).rounds
    assert [event.p.hex() for event in back.events[:-1]] == [value.hex() for value in values]
    assert back == round_


# --- one valid trace, changed at one place ---------------------------------------------------------------------------


def _event(outcome: Outcome, token_id: int = 7) -> TokenEvent:
    q = None if outcome in (B, P) else 0.5
    u = 0.25 if outcome in (A, R) else None
    return TokenEvent(token_id, outcome, 0.75, q, u, q, (TopRow(token_id, " a", 0.75, q),), (0.25, q), " a")


def _round(index: int, *outcomes: Outcome) -> Round:
    k = sum(outcome in (A, R, D) for outcome in outcomes)
    return Round(index, k, tuple(map(_event, outcomes)), 0.01, 0.02, 0.003, 0.5 if index == 0 else 0.0)


SMALL = Trace(
    pair={"target": "t", "draft": "d", "target_parameters": 134_515_008, "share": 0.5},
    params=SamplingParams(temperature=0.8, seed=1, max_new_tokens=9),
    k=3,
    prompt="Why is the sky blue? 为什么",
    prompt_ids=(1, 2, 3),
    rounds=(_round(0, A, R, D, S), _round(1, A, A, A, B), _round(2, B), _round(3, A, D)),
    baseline=(_round(0, P), _round(1, P)),
    fork=Fork("spec", 2, 1, (4, 5), " a", " b", 0.5),
)


def changed(path: str, value: object) -> str:
    """The JSON of SMALL with another value at `path`, say "rounds.0.events.1.p"; DELETE removes the key."""
    data = json.loads(to_json(SMALL))
    *parents, last = (int(step) if step.isdigit() else step for step in path.split("."))
    inner = data
    for step in parents:
        inner = inner[step]
    if value is DELETE:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(data)


DELETE = object()
NAN, INF = float("nan"), float("inf")

FAULTS = [
    ("schema", 2, "schema is 2; it must be 1"),
    ("schema", "1", "schema is '1'; it must be a whole number"),
    ("schema", True, "schema is true"),
    ("schema", DELETE, "schema is missing"),
    ("pair", [], "pair is []; it must be an object"),
    ("pair.target", None, "pair.target is null; it must be a string or a number"),
    ("pair.target", {}, "pair.target is {}"),
    ("pair.share", NAN, "pair.share is NaN"),
    ("pair.share", 10**400, "pair.share is 1000"),
    ("params.temperature", -1, "params.temperature is -1; it must be a finite number"),
    ("params.temperature", None, "params.temperature is null"),
    ("params.temperature", 10**400, "params.temperature is 1000"),
    ("params.top_p", 0, "params.top_p is 0.0; it must be above 0"),
    ("params.top_k", 2.5, "params.top_k is 2.5; it must be a whole number"),
    ("params.min_p", "0", "params.min_p is '0'"),
    ("params.seed", -1, "params.seed is -1"),
    ("params.max_new_tokens", DELETE, "params.max_new_tokens is missing"),
    ("k", -1, "k is -1"),
    ("k", 1.0, "k is 1.0"),
    ("prompt", 3, "prompt is 3; it must be a string"),
    ("prompt", "\ud83d", "prompt is '\\ud83d'; it must be text without half characters"),
    ("prompt_ids", "123", "prompt_ids is '123'; it must be a list"),
    ("prompt_ids.1", -2, "prompt_ids[1] is -2"),
    ("prompt_ids.1", 2**31, "prompt_ids[1] is 2147483648"),
    ("rounds", {}, "rounds is {}; it must be a list"),
    ("rounds.1", [], "rounds[1] is []; it must be an object"),
    ("rounds.1.index", 2, "rounds[1].index is 2; it must be 1, its place in the run"),
    ("rounds.1.k", 2, "rounds[1].k is 2; it must be 3, the number of its drafted events"),
    ("rounds.1.draft_s", -0.5, "rounds[1].draft_s is -0.5; it must be a number of seconds"),
    ("rounds.1.verify_s", INF, "rounds[1].verify_s is Infinity"),
    ("rounds.1.other_s", "1", "rounds[1].other_s is '1'"),
    ("rounds.1.prefill_s", NAN, "rounds[1].prefill_s is NaN"),
    ("rounds.1.judge_s", -1, "rounds[1].judge_s is -1"),
    ("rounds.1.judge_s", 1e6, "rounds[1].judge_s is 1000000.0"),
    ("rounds.1.look_s", 1e6, "rounds[1].look_s is 1000000.0; it must be a part of other_s, at most 0.003 s"),
    ("rounds.1.events", None, "rounds[1].events is null"),
    ("rounds.1.events", [], "rounds[1].k is 3; it must be 0"),
    ("rounds.0.events.1", 0, "rounds[0].events[1] is 0; it must be an object"),
    ("rounds.0.events.1.p", -0.1, "rounds[0].events[1].p is -0.1; it must be a number from 0 to 1"),
    ("rounds.0.events.1.p", 1.5, "rounds[0].events[1].p is 1.5"),
    ("rounds.0.events.1.p", NAN, "rounds[0].events[1].p is NaN"),
    ("rounds.0.events.1.p", None, "rounds[0].events[1].p is null"),
    ("rounds.0.events.1.p", True, "rounds[0].events[1].p is true"),
    ("rounds.0.events.1.p", DELETE, "rounds[0].events[1].p is missing"),
    ("rounds.0.events.1.q", None, "rounds[0].events[1].q is null"),
    ("rounds.0.events.1.u", None, "rounds[0].events[1].u is null"),
    (
        "rounds.0.events.2.u",
        0.5,
        "rounds[0].events[2].u is 0.5; it must be null: no coin is thrown for a token of the kind “discarded”",
    ),
    ("rounds.0.events.1.alpha", 2, "rounds[0].events[1].alpha is 2"),
    (
        "rounds.1.events.3.q",
        0.5,
        "rounds[1].events[3].q is 0.5; it must be null: a token of the kind “bonus” has no draft",
    ),
    ("rounds.1.events.3.top.0.3", 0.5, "rounds[1].events[3].top[0][3] is 0.5"),
    ("rounds.1.events.3.rest.1", 0.5, "rounds[1].events[3].rest[1] is 0.5"),
    ("rounds.0.events.0.outcome", "lucky", "rounds[0].events[0].outcome is 'lucky'; it must be one of accepted"),
    ("rounds.0.events.0.outcome", [], "rounds[0].events[0].outcome is []"),
    ("rounds.0.events.0.token_id", 1.0, "rounds[0].events[0].token_id is 1.0"),
    ("rounds.0.events.0.text", None, "rounds[0].events[0].text is null"),
    ("rounds.0.events.0.top", "", "rounds[0].events[0].top is ''"),
    ("rounds.0.events.0.top.0", [1, "a", 0.5], "rounds[0].events[0].top[0] is [1, 'a', 0.5]"),
    ("rounds.0.events.0.top.0.0", "x", "rounds[0].events[0].top[0][0] is 'x'"),
    ("rounds.0.events.0.top.0.2", 2, "rounds[0].events[0].top[0][2] is 2"),
    ("rounds.0.events.0.rest", [0], "rounds[0].events[0].rest is [0]; it must be [p, q]"),
    ("rounds.0.events.0.rest.0", 1.5, "rounds[0].events[0].rest[0] is 1.5"),
    ("rounds.0.events.0.outcome", "rejected", "rounds[0].events is no round"),
    ("baseline", [], "baseline is []; it must be an object"),
    ("baseline", {}, "baseline.rounds is missing"),
    ("baseline.rounds.1.events", [], "baseline.rounds[1].events is no round"),
    ("fork", [], "fork is []; it must be an object"),
    ("fork.lane", "left", "fork.lane is 'left'; it must be one of spec, plain"),
    ("fork.round", -1, "fork.round is -1"),
    ("fork.event", 0.5, "fork.event is 0.5"),
    ("fork.ids", [], "fork.ids is []; it must be a list of at least one token id"),
    ("fork.ids.0", 2**31, "fork.ids[0] is 2147483648"),
    ("fork.before", None, "fork.before is null"),
    ("fork.given", DELETE, "fork.given is missing"),
    ("fork.u", 1.5, "fork.u is 1.5; it must be a number from 0 to 1"),
    ("fork.u", None, None),
    ("fork", DELETE, None),
    ("baseline", None, None),
    ("note", "a key of a later version", None),
]


@pytest.mark.parametrize(("path", "value", "message"), FAULTS, ids=[f"{p}={v!r:.20}" for p, v, _ in FAULTS])
def test_a_wrong_value_is_refused_by_its_place(path: str, value: object, message: str | None) -> None:
    text = changed(path, value)
    if message is None:
        from_json(text)
        return
    with pytest.raises(ValueError) as caught:
        from_json(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


LETTERS = {"A": A, "R": R, "D": D, "S": S, "B": B, "P": P}


@pytest.mark.parametrize(
    "letters", ["A", "S", "ABB", "BA", "ARSS", "RRS", "DRS", "ADRS", "ARAS", "P", "D", "ARD", "AS", "RB", ""]
)
def test_outcomes_that_no_round_can_have_are_refused(letters: str) -> None:
    wrong = _round(0, *(LETTERS[letter] for letter in letters))
    with pytest.raises(ValueError, match=r"rounds\[0\].events is no round"):
        from_json(to_json(replace(SMALL, rounds=(wrong, _round(1, B)))))


def test_only_the_last_round_may_stop_early() -> None:
    stop = _round(0, A, D, D)
    assert from_json(to_json(replace(SMALL, rounds=(stop,)))).rounds == (stop,)
    with pytest.raises(ValueError, match=r"rounds\[0\].events is no round"):
        from_json(to_json(replace(SMALL, rounds=(stop, _round(1, B)))))


def test_old_traces_without_a_prefill_and_double_keys_are_read() -> None:
    text = changed("rounds.1.prefill_s", DELETE)
    assert from_json(text).rounds[1].prefill_s == 0
    assert from_json(text.replace('"k": 3, "prompt"', '"k": -9, "k": 3, "prompt"')).k == 3


def test_old_traces_without_finer_times_are_read() -> None:
    data = json.loads(changed("rounds.1.judge_s", DELETE))
    for round_ in data["rounds"]:
        round_.pop("look_s", None)
    assert [(each.judge_s, each.look_s) for each in from_json(json.dumps(data)).rounds[1:2]] == [(0, 0)]


# --- files that are no trace at all ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", " ", "null", "3", '"a"', "[]", "{}", "{", "\ufeff{}", "NaN", "[" * 200_000, '{"a":' * 200_000, "9" * 10_000],
    ids=lambda text: text[:10] or "empty",
)
def test_what_is_no_trace_is_refused(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        from_json(text)
    assert len(str(caught.value)) < 200


def test_every_truncation_is_refused() -> None:
    text = to_json(SMALL)
    for end in range(0, len(text), 7):
        with pytest.raises(ValueError):
            from_json(text[:end])


def test_hostile_values_are_shortened() -> None:
    for path in ("prompt_ids", "rounds.0.events.0.outcome", "rounds.0.events.0.rest.0", "params.top_k"):
        with pytest.raises(ValueError) as caught:
            from_json(changed(path, "x" * 10**6))
        assert len(str(caught.value)) < 300


def test_too_large_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(traces, "MAX_BYTES", 2**20)
    with pytest.raises(ValueError, match="larger than 1 MiB"):
        from_json(" " * (2**20 + 1))
    (tmp_path / "huge").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(ValueError, match="larger than 1 MiB"):
        load(tmp_path / "huge")
    monkeypatch.setattr(traces, "MAX_EVENTS", 9)
    with pytest.raises(ValueError, match="rounds has more than 9 events"):
        from_json(to_json(SMALL))


def test_random_damage_gives_a_trace_or_a_value_error() -> None:
    """1,500 mutations of a valid file, seeded; each is read as a Trace or refused with a short ValueError."""
    rng = random.Random(5)
    valid = to_json(SMALL)
    read = 0
    for _ in range(1500):
        text = valid
        for _ in range(rng.randint(1, 3)):
            text = _damaged(text, rng)
        try:
            assert isinstance(from_json(text), Trace)
            read += 1
        except ValueError as error:
            assert 0 < len(str(error)) < 500
    assert 10 < read < 1400  # both ends were reached


def _damaged(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    to = min(len(text), at + rng.choice([1, 1, 1, 3, 40]))
    kind = rng.randrange(5)
    if kind == 0:
        return text[:at] + text[to:]
    if kind == 1:
        return text[:at] + text[at:to] * 2 + text[to:]
    if kind == 2:
        return text[:at] + chr(rng.choice([rng.randrange(32, 127), rng.randrange(0x10000)])) + text[to:]
    number = rng.choice(["null", "NaN", "-1", "1e999", "true", "[]", "{}", '"x"', "1e-400", "2", "-Infinity"])
    start = text.rfind(":", 0, at) + 1
    if kind == 3 and start:
        end = min(i for i in (text.find(mark, start) for mark in ",}]") if i >= 0) if at < len(text) - 3 else len(text)
        return text[:start] + number + text[end:]
    return text[:at] + number + text[at:]


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_file_reads_back(tmp_path) -> None:
    save(tmp_path / "run.json", SMALL)
    assert load(tmp_path / "run.json") == SMALL
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + to_json(SMALL).encode())
    assert load(tmp_path / "bom.json") == SMALL
    (tmp_path / "utf16.json").write_bytes(to_json(SMALL).encode("utf-16"))
    with pytest.raises(ValueError, match="not UTF-8"):
        load(tmp_path / "utf16.json")


def test_a_compressed_file_is_the_same_run(tmp_path) -> None:
    save(tmp_path / "run.json.gz", SMALL)
    raw = (tmp_path / "run.json.gz").read_bytes()
    assert load(tmp_path / "run.json.gz") == SMALL == from_bytes(gzip.decompress(raw))
    save(tmp_path / "again.json.gz", SMALL)
    assert (tmp_path / "again.json.gz").read_bytes() == raw, "the time of day is in the file"
    for name, damaged in (("cut", raw[:-30]), ("turned", raw[:50] + bytes([raw[50] ^ 255]) + raw[51:]), ("", raw[:2])):
        (tmp_path / f"{name}.gz").write_bytes(damaged)
        with pytest.raises(ValueError, match="no saved run"):
            load(tmp_path / f"{name}.gz")


def test_a_bomb_is_never_unpacked(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """64 MiB of zeros in 64 kB: no more than the limit is ever decompressed."""
    monkeypatch.setattr(traces, "MAX_BYTES", 2**20)
    read, most = gzip.GzipFile.read, []
    monkeypatch.setattr(gzip.GzipFile, "read", lambda self, size: most.append(size) or read(self, size))
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(2**26), 9))
    with pytest.raises(ValueError, match="larger than 1 MiB"):
        load(tmp_path / "bomb.gz")
    assert most == [2**20 + 1]


@pytest.mark.skipif(os.name == "nt", reason="permissions and links are POSIX's")
def test_permissions_and_links_stay(tmp_path) -> None:
    save(tmp_path / "new", SMALL)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~mask
    (tmp_path / "new").chmod(0o640)
    (tmp_path / "link").symlink_to("new")
    save(tmp_path / "link", SMALL)
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_failed_write_leaves_the_old_file_alone(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.json").write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save(tmp_path / "run.json", SMALL)
    assert (tmp_path / "run.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_what_cannot_be_written_is_found_before(tmp_path) -> None:
    check_writable(tmp_path / "run.json")
    assert list(tmp_path.iterdir()) == []
    for path in (tmp_path, tmp_path / "no" / "run.json", os.devnull):
        with pytest.raises(OSError, match=f"^{re.escape(str(path))} "):
            check_writable(path)


@pytest.mark.skipif(os.name == "nt", reason="links and names of open files are POSIX's")
def test_what_cannot_be_written_is_named_as_it_was_given(tmp_path) -> None:
    (tmp_path / "link").symlink_to("no/run.json")
    with pytest.raises(OSError, match="/link cannot be written: No such file"):
        check_writable(tmp_path / "link")
    for end in os.pipe():
        with open(end, "rb"), pytest.raises(OSError, match=f"^/dev/fd/{end} is there already and is not a file$"):
            check_writable(f"/dev/fd/{end}")
