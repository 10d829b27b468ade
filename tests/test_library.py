"""Runs that are shown without a model: the recorded ones that come with the page, and files that somebody opens."""

import json
import random

import pytest
from test_session import place_of
from test_trace import FAULTS, SMALL, changed
from tiny import tiny_pair

from specdemo.records import Outcome
from specdemo.session import Here, Library, Session
from specdemo.session.library import RECORDINGS
from specdemo.session.session import MAX_FILE, MAX_NAME, MAX_TOKENS
from specdemo.trace import from_json, load, to_json
from specdemo.ui.serve import TRACES


def no_load(spec, progress):
    raise AssertionError("a model was asked for")


@pytest.fixture(scope="module")
def session():
    """One that has no model to load."""
    return Session(Library(TRACES), Here(load=no_load))


# -- recordings -------------------------------------------------------------------------------------------------------


def test_each_recording_is_there_small_and_of_its_kind(session):
    assert session.library.names == RECORDINGS
    for name in RECORDINGS:
        path = TRACES / f"{name}.json.gz"
        trace = load(path)
        assert path.stat().st_size < 200_000 and trace.rounds and trace.baseline
        for event in (event for round_ in trace.rounds for event in round_.events if event.u is not None):
            assert (event.u * event.q < event.p) == (event.outcome is Outcome.ACCEPTED)
    written = {
        name: "".join(e.text for r in load(TRACES / f"{name}.json.gz").rounds for e in r.emitted) for name in RECORDINGS
    }
    assert sum("\u4e00" <= c <= "\u9fff" for c in written["chinese"]) > 20
    assert "def " in written["code"] and "sky" in written["english"]


def test_the_poor_draft_is_poor_and_says_so():
    good, poor = (load(TRACES / f"{name}.json.gz") for name in ("english", "poor"))
    share = {}
    for name, trace in (("good", good), ("poor", poor)):
        outcomes = [e.outcome for r in trace.rounds for e in r.events]
        kept, refused = outcomes.count(Outcome.ACCEPTED), outcomes.count(Outcome.REJECTED)
        share[name] = kept / (kept + refused)
    assert share["poor"] < 0.3 < share["good"]
    assert "blurred" in poor.pair["draft"] and poor.pair["name"] == "poor"


def test_a_recording_is_read_when_it_is_first_asked_for(tmp_path):
    for name in RECORDINGS[:2]:
        (tmp_path / f"{name}.json.gz").write_bytes((TRACES / f"{name}.json.gz").read_bytes())
    library = Library(tmp_path)
    assert library.names == RECORDINGS[:2]
    (tmp_path / f"{RECORDINGS[1]}.json.gz").write_bytes(b"broken")
    assert library.first.recording == RECORDINGS[0] and library.get(f"recorded-{RECORDINGS[0]}") is library.first
    with pytest.raises(ValueError):
        library.get(f"recorded-{RECORDINGS[1]}")
    for nothing in (RECORDINGS[0], "recorded-../english", "recorded-", "", None, 3, [], {}):
        assert library.get(nothing) is None
    assert Library(tmp_path / "none").first is None


def test_a_recording_answers_all_that_a_run_answers(session):
    run = {"run": "recorded-code"}
    snapshot = session.resync(run)
    assert snapshot["head"]["recording"] == "code" and snapshot["phase"] == {"name": "recorded"}
    assert session.inspect(run | {"lane": "spec", "round": 0, "event": 0})["position"]
    assert session.rounds(run | {"theme": "dark", "current": 3})["figure"]["data"]
    assert len(session.rounds(run | {"current": 3})["profile"]["columns"]) == 3
    assert from_json(session.trace(run)) == load(TRACES / "code.json.gz")


# -- opened files -----------------------------------------------------------------------------------------------------


def test_an_opened_run_gives_the_same_pictures_as_the_live_one():
    """Every figure and sentence of every token, and the figure of the rounds, number for number."""
    live = Session(place=place_of(tiny_pair()))
    run = json.loads(list(live.run(prompt="the hand", length=24, seed=5))[-1])["run"]
    text = live.trace({"run": run})
    elsewhere = Session(place=Here(load=no_load))
    opened = elsewhere.open({"text": text})
    before, after = (
        {lane: rows for lane, rows in snapshot.items() if lane in ("spec", "plain", "stats", "pick")}
        for snapshot in (live.resync({"run": run}), opened)
    )
    assert before == after
    for lane in ("spec", "plain"):
        for index, _, events, _ in after[lane]:
            for place in range(len(events)):
                for theme in ("light", "dark"):
                    here = {"lane": lane, "round": index, "event": place, "theme": theme}
                    assert elsewhere.inspect(here | {"run": opened["run"]}) == live.inspect(here | {"run": run})
    asked = {"current": 2, "theme": "dark"}
    assert elsewhere.rounds(asked | {"run": opened["run"]}) == live.rounds(asked | {"run": run})
    assert elsewhere.trace({"run": opened["run"]}) == text


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("run.json", "run.json"),
        ("<b>运行</b>.json", "<b>运行</b>.json"),
        ("x" * 500, "x" * MAX_NAME),
        ("\ud800", "\ufffd"),
        *((nothing, {"en": "a file", "zh": "文件"}) for nothing in (None, "", 3, ["run.json"])),
    ],
)
def test_an_opened_run_is_told_by_the_name_of_its_file(name, file):
    session = Session(Library(TRACES))
    opened = session.open({"text": to_json(SMALL), "name": name})
    assert opened["phase"] == session.resync({"run": opened["run"]})["phase"] == {"name": "recorded", "file": file}
    assert opened["head"]["recorded"] and opened["head"]["recording"] is None


def hostile() -> dict[str, object]:
    """Files that are no run, by kind."""
    valid = to_json(SMALL)
    rng = random.Random(3)
    plain = {"token_id": 1, "text": "", "outcome": "plain", "p": 0, "q": None, "u": None, "alpha": None, "top": []}
    many = [
        {"index": i, "k": 0, "draft_s": 0, "verify_s": 0, "other_s": 0, "events": [plain | {"rest": [0, None]}]}
        for i in range(MAX_TOKENS + 1)
    ]
    kinds = {
        "nothing": "",
        "blank": " \n",
        "truncated": valid[: len(valid) // 2],
        "one byte short": valid[:-1],
        "two runs": valid + valid,
        "another format": "<html><script>alert(1)</script></html>",
        "a list": "[1, 2, 3]",
        "a number": "3",
        "a string": json.dumps(valid),
        "binary": "".join(chr(rng.randrange(256)) for _ in range(4000)),
        "compressed": "\x1f\x8b\x08\x00",
        "deep lists": "[" * 100_000 + "]" * 100_000,
        "deep objects": '{"a":' * 100_000,
        "thousands of digits": changed("k", 1).replace('"k": 1', '"k": ' + "9" * 5000),
        "too large": " " * (MAX_FILE + 1),
        "too many tokens": changed("baseline", {"rounds": many}),
        "no text": None,
        "a number for a text": 7,
        "an object for a text": {"text": "x"},
        "scripts in a wrong place": changed("rounds.0.events.0.outcome", "<img src=x onerror=alert(1)>"),
        "half a character": changed("rounds.0.events.0.text", "\ud800"),
    }
    return kinds | {f"{path} {i}": changed(path, value) for i, (path, value, message) in enumerate(FAULTS) if message}


HOSTILE = hostile()


@pytest.mark.parametrize("kind", HOSTILE, ids=[name[:40] for name in HOSTILE])
def test_a_hostile_file_gets_a_sentence_and_nothing_else(session, kind):
    kept = dict(session._runs._kept)
    answer = session.open({"text": HOSTILE[kind]})
    assert set(answer) == {"phase"} and answer["phase"]["name"] == "failed"
    assert set(answer["phase"]["sentence"]) == {"en", "zh"}
    for sentence in answer["phase"]["sentence"].values():
        assert 5 < len(sentence) < 500 and "\n" not in sentence and "Traceback" not in sentence
    assert session._runs._kept == kept


def test_scripts_in_texts_are_texts(session):
    script = "<script>alert(1)</script>${7*7}\u202e"
    opened = session.open({"text": changed("rounds.0.events.0.text", script)})
    assert opened["spec"][0][2][0][1] == script


def test_opened_runs_are_kept_and_forgotten_as_all_runs(session):
    ids = {session.open({"text": to_json(SMALL)})["run"] for _ in range(70)}
    assert len(ids) == 70 and all(len(run) > 16 for run in ids)
    assert len(session._runs._kept) == 64
