"""The command line as a person or a program meets it, on a tiny pair."""

import inspect
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from tiny import tiny_pair

from specdemo import maths
from specdemo.check import Check
from specdemo.cli import main
from specdemo.cli import writing as writing_module
from specdemo.cli.arguments import parser
from specdemo.cli.load import ProgressLine
from specdemo.cli.numbers import verdicts
from specdemo.cli.paint import Painter
from specdemo.contract import NumericalFault
from specdemo.metrics import measure
from specdemo.models import LoadError
from specdemo.palette import PALETTE
from specdemo.records import Outcome, Round, TokenEvent
from specdemo.trace import load

ROOT = Path(__file__).parents[1]
PAIR = tiny_pair()
GENERATE = ["generate", "the end", "--temperature", "1", "--seed", "3", "--max-new-tokens", "20"]


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Every pair that is asked for is the tiny one; what was asked for is kept."""
    asked = []

    def load_pair(spec, **how):
        asked.append({"spec": spec, **how})
        how["progress"](0.5, "Half of it is there.")
        return PAIR

    monkeypatch.setattr("specdemo.cli.load.load_pair", load_pair)
    monkeypatch.delenv("NO_COLOR", raising=False)
    return asked


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def fault_of(capsys: pytest.CaptureFixture, argv: list[str]) -> str:
    """Run what must fail: status 2, nothing on stdout, one line on stderr, which comes back."""
    try:
        status = main(argv)
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    assert status == 2 and out == ""
    assert err.startswith("specdemo: ") and err.count("\n") == 1 and "Traceback" not in err
    return err.removeprefix("specdemo: ").strip()


# ---------------------------------------------------------------- generate


def test_a_pipe_gets_the_text_and_then_the_numbers(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    trace_file = tmp_path / "run.json"
    assert main([*GENERATE, "--trace", str(trace_file)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    trace = load(trace_file)
    ids = [event.token_id for round_ in trace.rounds for event in round_.emitted]
    assert len(ids) == 20
    text = PAIR.decode([*trace.prompt_ids, *ids]).removeprefix(PAIR.decode(trace.prompt_ids))
    assert out.startswith(text + "\n\n") and "\x1b" not in out
    stats = measure(trace.rounds)
    assert f"{stats.accepted} of {stats.accepted + stats.rejected} judged drafts were kept" in out
    assert f"20 = {stats.accepted} accepted + {stats.resampled} resampled + {stats.bonus} bonus" in out
    assert f"{stats.rounds} passes" in out and "seed 3" in out and str(trace_file) in out


def test_the_trace_has_the_run(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    """Identities of the counts and the verdict of every coin, from the file alone; the same seed gives the same run."""
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file in files:
        assert main([*GENERATE, "--k", "3", "--temperature", "0.7", "--raw", "--baseline", "--trace", str(file)]) == 0
    trace, again = map(load, files)
    assert [r.events for r in trace.rounds] == [r.events for r in again.rounds]
    assert trace.k == 3 and trace.params.temperature == 0.7 and trace.params.seed == 3
    assert trace.prompt == "the end" and list(trace.prompt_ids) == PAIR.encode("the end", chat=False)
    assert trace.pair == PAIR.describe()
    stats, plain = measure(trace.rounds), measure(trace.baseline)
    assert stats.drafted == stats.accepted + stats.rejected + stats.discarded
    assert stats.emitted == stats.accepted + stats.resampled + stats.bonus == 20
    assert plain.emitted == plain.plain == plain.rounds == 20
    for event in (event for round_ in trace.rounds for event in round_.events if event.u is not None):
        assert (event.u * event.q < event.p) == (event.outcome is Outcome.ACCEPTED)
    assert verdicts(
        trace.rounds
    ) == f"{stats.accepted + stats.rejected} of {stats.accepted + stats.rejected} verdicts" + (" follow from u·q < p")


def test_k_may_be_chosen_round_by_round(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    assert main([*GENERATE, "--k", "auto", "--trace", str(file)]) == 0
    trace = load(file)
    assert trace.k is None and measure(trace.rounds).emitted == 20
    assert main(["replay", str(file)]) == 0
    assert "K auto" in "".join(capsys.readouterr())


def test_chat_is_the_default_where_there_is_a_template(tmp_path: Path) -> None:
    main([*GENERATE, "--trace", str(tmp_path / "run.json")])
    assert list(load(tmp_path / "run.json").prompt_ids) == PAIR.encode("the end", chat=True)


def test_json_is_one_object_a_round_and_the_numbers(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    assert main([*GENERATE, "--json", "--baseline", "--trace", str(tmp_path / "run.json")]) == 0
    out, err = capsys.readouterr()
    *rounds, last = map(json.loads, out.splitlines())
    trace = load(tmp_path / "run.json")
    for lane, kept in (("speculative", trace.rounds), ("plain", trace.baseline)):
        told = [line for line in rounds if line["lane"] == lane]
        assert [line["index"] for line in told] == [round_.index for round_ in kept]
        assert [[event["token_id"] for event in line["events"]] for line in told] == [
            [event.token_id for event in round_.events] for round_ in kept
        ]
    assert len(rounds) == len(trace.rounds) + len(trace.baseline) and err == ""
    stats = measure(trace.rounds)
    assert last["stats"]["accepted"] == stats.accepted and last["stats"]["acceptance"] == stats.acceptance
    assert last["baseline"]["emitted"] == 20 and last["speedup"] > 0
    assert last["ended_by"] == "length" and last["params"]["seed"] == 3
    assert last["text"] == "".join(event.text for round_ in trace.rounds for event in round_.emitted)


def test_json_without_a_baseline_and_without_drafts(capsys: pytest.CaptureFixture) -> None:
    assert main(["generate", "the end", "--json", "--max-new-tokens", "1"]) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert last["baseline"] is None and last["speedup"] is None
    assert last["stats"]["emitted"] == 1 and last["stats"]["acceptance"] is None


def test_numbers_of_nothing_are_not_invented(capsys: pytest.CaptureFixture) -> None:
    assert main(["generate", "the end", "--max-new-tokens", "1", "--baseline"]) == 0
    assert "n/a: 0 of 0 judged" in capsys.readouterr().out


def test_a_seed_is_chosen_and_shown(capsys: pytest.CaptureFixture) -> None:
    seeds = set()
    for _ in range(3):
        main(["generate", "the end", "--max-new-tokens", "1"])
        seeds.add(re.search(r"seed (\d+)", capsys.readouterr().out).group(1))
    assert len(seeds) == 3  # by chance alone once in 700 million times


def test_the_prompt_may_come_from_standard_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("你好\n"))
    main(["generate", "-", "--max-new-tokens", "1", "--trace", str(tmp_path / "run.json")])
    assert load(tmp_path / "run.json").prompt == "你好\n"


def test_a_standard_input_without_end_is_refused(monkeypatch: pytest.MonkeyPatch, capsys, tiny: list[dict]) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(read=lambda size: size * "x"))
    assert fault_of(capsys, ["generate", "-"]).startswith("the prompt has more than 10,000,000 characters")
    assert tiny == []


def test_models_of_ones_own(tiny: list[dict]) -> None:
    argv = [*GENERATE, "--target", "a/big", "--draft", "b/small", "--device", "cpu", "--dtype", "float32"]
    assert main(argv) == 0
    (asked,) = tiny
    assert (asked["spec"].target, asked["spec"].draft, asked["device"], asked["dtype"]) == (
        "a/big",
        "b/small",
        "cpu",
        "float32",
    )


# ---------------------------------------------------------------- a terminal


def test_a_terminal_gets_marks_and_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stdout", terminal)
    assert main(GENERATE) == 0
    out = terminal.getvalue()
    assert out.startswith(Painter(True, True).legend())
    assert "\x1b[" in out
    for outcome in (Outcome.ACCEPTED, Outcome.REJECTED, Outcome.RESAMPLED):
        assert out.count(PALETTE[outcome].glyph) > 1  # once in the legend


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_no_color_keeps_the_marks(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout", Terminal())
    assert main(GENERATE) == 0
    out = sys.stdout.getvalue()
    assert "\x1b" not in out and out.count("✗") > 1 and out.count("↻") > 1


def _event(outcome: Outcome, text: str, token_id: int = 9) -> TokenEvent:
    return TokenEvent(token_id, outcome, 0.5, 0.5, text=text)


ROUND = Round(
    0,
    3,
    (
        _event(Outcome.ACCEPTED, " sky"),
        _event(Outcome.ACCEPTED, "\n<b>"),
        _event(Outcome.REJECTED, " \n"),
        _event(Outcome.RESAMPLED, "\x1b[2J\r\u202e!"),
    ),
    0.1,
    0.2,
    0.0,
)


def test_marks_name_each_stretch_and_show_what_was_refused() -> None:
    assert Painter(marks=True, colours=False).round(ROUND) == "✓ sky\n<b>✗␣↵↻‹001B›[2J␍‹202E›!"
    assert Painter(marks=False, colours=False).round(ROUND) == " sky\n<b>\x1b[2J\r\u202e!"
    assert Painter(marks=False, colours=False, hidden={9}).round(ROUND) == ""


@pytest.mark.parametrize("environ", [{}, {"COLORTERM": "truecolor"}, {"COLORFGBG": "0;15"}])
def test_colours_are_per_outcome_and_end_with_the_line(environ: dict[str, str]) -> None:
    """Every escape sequence is ours, is closed before a line ends, and taking them out leaves the marks."""
    out = Painter(True, True, environ=environ).round(ROUND)
    assert re.sub(r"\x1b\[[\d;]*m", "", out) == Painter(True, False).round(ROUND)
    assert all(line.endswith("\x1b[0m") for line in out.split("\n"))
    starts = [Painter(True, True, environ=environ)._starts[outcome] for outcome in Outcome]
    assert len(set(starts)) == len(Outcome)
    assert ";9m" in starts[list(Outcome).index(Outcome.REJECTED)]


def test_deep_colours_are_the_palettes() -> None:
    start = Painter(True, True, environ={"COLORTERM": "truecolor"})._starts[Outcome.BONUS]
    tone = PALETTE[Outcome.BONUS].dark
    ink, fill = ([str(int(code[i : i + 2], 16)) for i in (1, 3, 5)] for code in (tone.ink, tone.fill))
    assert start == f"\x1b[38;2;{';'.join(ink)};48;2;{';'.join(fill)}m"


def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    main(["generate", "the end", "--max-new-tokens", "1"])
    assert "50 %  Half of it is there." in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")  # and gone in the end


# ---------------------------------------------------------------- cut short


def cut_after(monkeypatch: pytest.MonkeyPatch, rounds: int, error: BaseException) -> None:
    """The engine's race raises `error` in place of a later round."""
    right = writing_module.race

    def race(lanes):
        for n, news in enumerate(right(lanes)):
            if n == rounds:
                raise error
            yield news

    monkeypatch.setattr(writing_module, "race", race)


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_keeps_what_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path, as_json: bool
) -> None:
    cut_after(monkeypatch, 3, KeyboardInterrupt())
    file = tmp_path / "run.json"
    assert main([*GENERATE, "--trace", str(file), *(["--json"] if as_json else [])]) == 130
    out, err = capsys.readouterr()
    assert len(load(file).rounds) == 3
    assert err == "specdemo: interrupted\n"
    if as_json:
        lines = [json.loads(line) for line in out.splitlines()]
        assert len(lines) == 4 and lines[-1]["ended_by"] == "interrupted" and lines[-1]["stats"]["rounds"] == 3
    else:
        assert "an interruption" in out and "3 passes" in out


def test_a_numerical_fault_keeps_what_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path
) -> None:
    cut_after(monkeypatch, 2, NumericalFault("no_distribution", model="target", position=9))
    assert main([*GENERATE, "--trace", str(tmp_path / "run.json")]) == 2
    assert capsys.readouterr().err.startswith("specdemo: The target's logits at position 9 are no distribution")
    assert len(load(tmp_path / "run.json").rounds) == 2


def test_a_full_disk_behind_standard_output_keeps_what_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path: Path
) -> None:
    cut_after(monkeypatch, 2, OSError(28, "No space left on device"))
    assert main([*GENERATE, "--trace", str(tmp_path / "run.json")]) == 2
    assert capsys.readouterr().err == "specdemo: No space left on device\n"
    assert len(load(tmp_path / "run.json").rounds) == 2


#: A child process with the tiny pair in place of the real one.
CHILD = """
import sys
sys.path[:0] = {paths}
from tiny import tiny_pair
import specdemo.cli.load as load
from specdemo.check import Check
from specdemo.cli import main
load.load_pair = lambda spec, **how: tiny_pair(max_position_embeddings=100_000)
sys.exit(main({argv}))
"""


def child(argv: list[str]) -> subprocess.Popen:
    code = CHILD.format(paths=[str(ROOT), str(ROOT / "tests")], argv=argv)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        # Tests that run in the background of a shell inherit a SIGINT that is ignored.
        preexec_fn=None if os.name == "nt" else partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )


ENDLESS = ["generate", "the end", "--seed", "2", "--max-new-tokens", "90000"]


@pytest.mark.parametrize("form", ["--json", "--color=always"])
def test_a_reader_that_leaves_ends_it_quietly(tmp_path: Path, form: str) -> None:
    with child([*ENDLESS, form, "--trace", str(tmp_path / "run.json")]) as process:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(timeout=120) == 141
    assert err == ""
    assert load(tmp_path / "run.json").rounds  # what there was is kept


@pytest.mark.skipif(os.name == "nt", reason="a signal cannot be sent to one process of a console there")
def test_a_real_interrupt(tmp_path: Path) -> None:
    with child([*ENDLESS, "--json", "--trace", str(tmp_path / "run.json")]) as process:
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=120)
    assert process.returncode == 130 and err == "specdemo: interrupted\n"
    lines = [json.loads(line) for line in (first + rest).splitlines()]
    assert lines[-1]["ended_by"] == "interrupted"
    assert len(load(tmp_path / "run.json").rounds) == len(lines) - 1


# ---------------------------------------------------------------- faults


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["fly"], "argument COMMAND: invalid choice: 'fly'"),
        (["generate"], "the following arguments are required: PROMPT"),
        (["generate", "x", "--k", "two"], "argument --k: 'two' is neither a whole number nor auto"),
        (["generate", "x", "--k", "-1"], "--k is -1; it must be a whole number, at least 0"),
        (["generate", "x", "--temperature", "-1"], "temperature is -1.0; it must be a finite number, at least 0"),
        (["generate", "x", "--temperature", "nan"], "temperature is nan"),
        (["generate", "x", "--top-p", "0"], "top_p is 0.0"),
        (["generate", "x", "--seed", "-1"], "seed is -1"),
        (["generate", "x", "--max-new-tokens", "-1"], "--max-new-tokens is -1; it must be a whole number, at least 1"),
        (["generate", " \n"], "the prompt is empty"),
        (["generate", "\udcff"], "the prompt is not valid text"),
        (["generate", "x", "--pair", "nix"], "--pair is 'nix'; it must be one of embedded, "),
        (["generate", "x", "--target", "a"], "--target and --draft go together"),
        (["generate", "x", "--pair", "embedded", "--draft", "a"], "--pair names both models"),
        (["generate", "x", "--trace", "/no/such/folder/run.json"], "/no/such/folder/run.json cannot be written"),
        (["generate", "x", "--trace", "."], ". is there already and is not a file"),
        (["check", "--k", "0"], "--k is 0; it must be a whole number, at least 1"),
        (["check", "--samples", "199"], "--samples is 199; it must be a whole number, at least 200"),
        (["replay", "/no/such/run.json"], "/no/such/run.json: No such file or directory"),
        (["replay", "."], ".: Is a directory"),
        (["replay", ""], "'': No such file or directory"),
        (["bench", "--html", ""], "--html names no file"),
        (["bench", "--json", ""], "--json names no file"),
        (["serve", "--host", ""], "--host is ''; it must be an address of this machine"),
        (["serve", "--host", "192.0.2.1"], "--host is '192.0.2.1'; it must be an address of this machine: "),
        (["serve", "--host", "x" * 70], f"--host is '{'x' * 70}'; it must be an address of this machine"),
        (["generate", "x", "--trace", ""], "--trace names no file"),
        (["generate", "x", "--max-new-tokens", "0"], "--max-new-tokens is 0; it must be a whole number, at least 1"),
        (["serve", "--pair", "nix"], "--pair is 'nix'"),
        (["serve", "--device-map", "nowhere"], "The device 'nowhere' is not here"),
        (["generate", "x", "--device-map", "[1]"], "The device '[1]' is not here"),
        (["check", "--device-map", "{}"], "The device map '{}' cannot be read"),
        (["serve", "--replicas", "none"], "--replicas is 'none'; it must be a whole number from 1 to 64"),
        (["serve", "--replicas", ""], "--replicas is ''; it must be a whole number from 1 to 64, or two such as 1-4"),
        (["serve", "--ray", ""], "--ray is ''; it must be the HOST:PORT of a Ray cluster that runs, or auto"),
        (["serve", "--ray", " "], "--ray is ' '; it must be the HOST:PORT"),
        (["serve", "--replicas", "2", "--at-once", "2"], "--at-once is for one process; as many runs go on"),
        (["serve", "--auth", ""], "--auth must be USER:PASSWORD"),
        (["serve", "--auth", "me"], "--auth must be USER:PASSWORD, with at least one character on each side"),
        (["serve", "--auth", ":b"], "--auth must be USER:PASSWORD"),
        (["serve", "--auth", "a:"], "--auth must be USER:PASSWORD"),
        (["serve", "--at-once", "0"], "--at-once is 0; it must be a whole number from 1 to 16"),
        (["serve", "--most-seconds", "-5"], "--most-seconds is -5; it must be a whole number from 1 to 86400"),
        (["serve", "--port", "99999"], "--port is 99999; it must be a whole number from 1 to 65535"),
    ],
    ids=lambda value: " ".join(value).encode("unicode_escape").decode()[:40] if isinstance(value, list) else "",
)
def test_a_mistake_is_said_in_one_line_before_anything_is_loaded(
    capsys: pytest.CaptureFixture, tiny: list[dict], argv: list[str], message: str
) -> None:
    assert fault_of(capsys, argv).startswith(message)
    assert tiny == []


def test_what_cannot_be_loaded_is_said_in_one_line(capsys: pytest.CaptureFixture, monkeypatch) -> None:
    def load_pair(spec, **how):
        raise LoadError("load_failed", name="it", error="a\nb")

    monkeypatch.setattr("specdemo.cli.load.load_pair", load_pair)
    assert fault_of(capsys, GENERATE) == "it could not be loaded: a b."


def test_a_prompt_beyond_the_context_is_said_in_one_line(capsys: pytest.CaptureFixture) -> None:
    assert "The prompt has" in fault_of(capsys, ["generate", "x" * 2000])


def test_a_full_disk_is_said_in_one_line(capsys: pytest.CaptureFixture, monkeypatch, tmp_path: Path) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert main([*GENERATE, "--trace", str(tmp_path / "run.json")]) == 2
    assert capsys.readouterr().err == "specdemo: No space left on device\n"
    assert list(tmp_path.iterdir()) == []


def test_our_own_mistakes_keep_their_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_after(monkeypatch, 1, AssertionError("ours"))
    with pytest.raises(AssertionError, match="ours"):
        main(GENERATE)


# ---------------------------------------------------------------- check, replay, pairs, help


def test_check_passes_a_right_engine(capsys: pytest.CaptureFixture) -> None:
    """One sampled line fails a right engine with odds of a millionth, and the seed is fixed."""
    assert main(["check", "the end", "--samples", "200"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("target") and out.index("prompt") < out.index("exact")
    assert "\nLossless" in out and "200 runs" in out and "coins judged wrongly: 0" in out


def test_check_fails_a_wrong_one(capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maths, "last_law", lambda accepted, p, *_: p[accepted][None])
    assert main(["check", "the end", "--samples", "200"]) == 1
    assert "\nNOT lossless: the exact law of a position is not the target's" in capsys.readouterr().out


def test_replay_shows_the_run_and_its_numbers(capsys: pytest.CaptureFixture, tmp_path: Path, tiny: list[dict]) -> None:
    main([*GENERATE, "--baseline", "--trace", str(tmp_path / "run.json")])
    ran = capsys.readouterr().out
    tiny.clear()
    assert main(["replay", str(tmp_path / "run.json")]) == 0
    shown = capsys.readouterr().out
    own = ("ended by", "trace", "coins", "asked")
    lines = [[line for line in out.split("\n") if not line.startswith(own)] for out in (ran, shown)]
    assert lines[0] == lines[1]
    assert re.search(r"coins +(\d+) of \1 verdicts follow", shown)
    assert re.search(rf"^asked +{GENERATE[1]}$", shown, re.MULTILINE)
    assert tiny == []  # no model


def test_replay_refuses_a_broken_run_by_its_place(capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
    main([*GENERATE, "--trace", str(tmp_path / "run.json")])
    capsys.readouterr()
    text = (tmp_path / "run.json").read_text()
    (tmp_path / "run.json").write_text(
        re.sub(r'"outcome":"\w+","p":[^,]+', '"outcome":"accepted","p":2', text, count=1)
    )
    assert fault_of(capsys, ["replay", str(tmp_path / "run.json")]).startswith(
        "rounds[0].events[0].p is 2; it must be a number from 0 to 1"
    )


def test_replay_survives_what_a_trace_tells_of_its_pair(
    capsys: pytest.CaptureFixture, tmp_path: Path, tiny: list[dict]
) -> None:
    """Names are free text, and any of them may be nonsense or try to steer the terminal."""
    main([*GENERATE, "--trace", str(tmp_path / "run.json")])
    capsys.readouterr()
    run = json.loads((tmp_path / "run.json").read_text())
    run["prompt"] = "\x1b[31mred\x07 " + "long " * 99
    run["pair"] |= {"target": "\x1b[31mred\x07\x9b31m\u202e\nspeed 999", "target_parameters": "many"}
    (tmp_path / "run.json").write_text(json.dumps(run))
    assert main(["replay", str(tmp_path / "run.json")]) == 0
    shown = capsys.readouterr().out
    assert not any(char in shown for char in "\x1b\x07\x9b\u202e") and "\nspeed 999" not in shown
    run["pair"] = {"\x1b[31m": [1]}
    (tmp_path / "run.json").write_text(json.dumps(run))
    assert main(["replay", str(tmp_path / "run.json")]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("words", ["pairs >&-", "generate - <&-", "replay assets/traces/poor.json.gz >&-"])
def test_closed_standard_streams_are_no_crash(words: str) -> None:
    command = f"{sys.executable} -m specdemo {words}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert "Traceback" not in done.stderr


def test_progress_of_a_closed_stream_goes_nowhere(capsys: pytest.CaptureFixture) -> None:
    with ProgressLine(None) as line:
        line.tell(0.5, "half")
        line.say("all")
    assert capsys.readouterr() == ("", "")


def test_a_port_that_another_program_has_is_named(capsys: pytest.CaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert fault_of(capsys, ["serve", "--port", str(port)]).startswith(f"--port is {port}; it cannot be had on ")


def test_pairs_lists_the_catalogue(capsys: pytest.CaptureFixture) -> None:
    from specdemo.models import CATALOGUE

    assert main(["pairs"]) == 0
    out = capsys.readouterr().out
    assert all(name in out and spec.note in out for name, spec in CATALOGUE.items())


def test_replicas_without_ray_are_refused_with_what_to_install(capsys, monkeypatch) -> None:
    monkeypatch.setattr("specdemo.cli.serve.find_spec", lambda name: None)
    for words in (["--replicas", "2"], ["--ray", "auto"]):
        assert "pip install -r requirements-serve.txt" in fault_of(capsys, ["serve", *words])


def test_serve_listens_where_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr("specdemo.ui.serve.serve", lambda **how: calls.append(how) or 0)
    monkeypatch.delenv("SPECDEMO_AUTH", raising=False)
    sys.modules.pop("specdemo.cli.serve", None)
    from specdemo.session.turns import MOST_S

    with socket.create_server(("", 0)) as free:
        port = free.getsockname()[1]
    words = ["--port", str(port), "--pair", "gpt2-xl", "--lan", "--open", "--auth", "me:a:b", "--metrics", "--log-prompts"]
    words += ["--at-once", "2", "--most-seconds", "30"]
    assert main(["serve", *words]) == 0
    assert main(["serve"]) == 0
    monkeypatch.setenv("SPECDEMO_AUTH", "you:c")
    assert main(["serve"]) == 0
    own, default, hidden = calls
    assert (own["login"], own["metrics"], own["log_prompts"]) == (("me", "a:b"), True, True)
    assert (default["login"], default["metrics"], default["log_prompts"]) == (None, False, False)
    assert hidden["login"] == ("you", "c")
    assert (own["host"], own["port"], own["pair"].name, own["inbrowser"]) == ("0.0.0.0", port, "gpt2-xl", True)
    assert (default["host"], default["port"], default["pair"].name, default["inbrowser"]) == (
        "127.0.0.1",
        None,
        "embedded",
        False,
    )
    turns = [how["place"].turns for how in (own, default)]
    assert [(line.at_once, line.most_s) for line in turns] == [(2, 30), (1, MOST_S)]


def test_metrics_without_their_package_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    assert main(["serve", "--metrics"]) == 2
    assert "--metrics needs the package prometheus-client; try: pip install" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["generate", "check", "bench", "memory", "serve", "space", "replay", "pairs"])
def test_the_help_of_an_option_names_no_option_that_the_command_lacks(command: str) -> None:
    (commands,) = (action for action in parser()._actions if isinstance(action.choices, dict))
    actions = commands.choices[command]._actions
    known = {name for action in actions for name in action.option_strings}
    assert not {name for action in actions for name in re.findall(r"--[a-z-]+", action.help)} - known


@pytest.mark.parametrize("argv", [[], ["generate"], ["check"], ["serve"], ["replay"], ["pairs"]], ids=str)
def test_help_is_there_at_once(argv: list[str]) -> None:
    """Help imports none of the libraries that take seconds, and fits a terminal."""
    code = (
        "import sys\n"
        "from specdemo.cli import main\n"
        f"try: main({[*argv, '--help']})\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "heavy = {'torch', 'numpy', 'transformers', 'gradio', 'plotly'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("usage: python -m specdemo") and max(map(len, done.stdout.splitlines())) <= 120


def test_without_its_packages_it_says_what_to_do() -> None:
    code = "import sys; sys.modules['torch'] = None; from specdemo.cli import main; sys.exit(main(['pairs']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "specdemo: the package 'torch' is not installed; try: pip install -r requirements.txt\n"


def test_the_check_has_one_default() -> None:
    """Help may not import torch, so the parser spells the numbers of `check` again."""
    args = parser().parse_args(["check"])
    defaults = {name: argument.default for name, argument in inspect.signature(Check).parameters.items()}
    assert (args.k, args.samples) == (defaults["k"], defaults["samples"])
