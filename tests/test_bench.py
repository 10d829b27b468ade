"""The bench: what the clock counts, who takes turns with whom, and what a person is told of it, on tiny pairs."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from plotly import graph_objects as go
from tiny import byte_tokenizer, tiny_config, tiny_model

from specdemo.bench import run as run_module
from specdemo.bench.bandwidth import read_speed
from specdemo.bench.engine import Engine
from specdemo.bench.families import FAMILIES
from specdemo.bench.prompts import PROMPTS
from specdemo.bench.ratios import Ratio, ratios
from specdemo.bench.report import rows
from specdemo.bench.run import Miscount, take
from specdemo.bench.spread import Spread
from specdemo.bench.table import comparisons
from specdemo.bench.turns import take_turn, warm_up
from specdemo.cli import main
from specdemo.cli.arguments import parser
from specdemo.peers import llama_cpp
from specdemo.records import USUAL_TEMPERATURE, SamplingParams

ROOT = Path(__file__).parents[1]
PARAMS = SamplingParams(temperature=0, seed=0, max_new_tokens=6)
STOPS = frozenset({9})


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(run_module.time, "perf_counter", lambda: now[0])
    return now


def scripted(clock, bursts, said=None, family="target", name="scripted", numbers="float32", size=10) -> Engine:
    """It takes so many seconds for each burst of ids."""

    def write(prompt_ids, params, stop_ids, tell) -> int:
        for seconds, ids in bursts:
            clock[0] += seconds
            tell(ids)
        clock[0] += 1000  # what it does afterwards counts for nothing
        return sum(len(ids) for _, ids in bursts) if said is None else said

    return Engine(family, name, numbers, size, write)


# ---------------------------------------------------------------- one run


def test_the_prompt_is_apart_from_the_rate(clock):
    run = take(scripted(clock, [(5, [1, 2]), (2, [3]), (1, [4, 5, 6])]), 3, [0], PARAMS, STOPS)
    assert (run.turn, run.tokens, run.passes, run.first_tokens) == (3, 6, 3, 2)
    assert (run.first_s, run.rest_s) == (5, 3)
    assert run.tokens_per_second == pytest.approx(4 / 3) and run.tokens_per_pass == 2


def test_one_burst_has_no_rate(clock):
    run = take(scripted(clock, [(5, [1, 2, 9])]), 0, [0], PARAMS, STOPS)
    assert run.tokens_per_second is run.tokens_per_pass is None


@pytest.mark.parametrize(
    ("bursts", "said", "words"),
    [
        ([(1, [1, 2, 3, 4, 5, 6])], 7, "says that it wrote 7 tokens, and 6 came"),
        ([(1, [1, 2, 3, 4, 5, 6])], 5, "says that it wrote 5 tokens, and 6 came"),
        ([(1, [1, 2, 3])], None, "wrote 3 tokens, where 6 were asked for, and no stop token"),
        ([(1, [1, 2, 3, 4, 5, 6, 7])], None, "wrote 7 tokens, where 6 were asked for"),
        ([(1, [1, 9, 3, 4, 5, 6])], None, "went on after the stop token 9"),
        ([], None, "wrote 0 tokens"),
    ],
)
def test_a_miscount_is_caught(clock, bursts, said, words):
    with pytest.raises(Miscount, match=words):
        take(scripted(clock, bursts, said), 0, [0], PARAMS, STOPS)


def test_a_stop_token_ends_a_text_early(clock):
    assert take(scripted(clock, [(1, [1, 2]), (1, [9])]), 0, [0], PARAMS, STOPS).tokens == 3


# ---------------------------------------------------------------- turns


def test_each_turn_begins_with_another_engine_and_has_a_seed(clock):
    asked = []

    def engine(name):
        def write(prompt_ids, params, stop_ids, tell):
            asked.append((name, params.seed, tuple(prompt_ids)))
            tell([1] * params.max_new_tokens)
            return params.max_new_tokens

        return Engine("target", name, "float32", 1, write)

    engines = [engine("a"), engine("b"), engine("c")]
    for turn in range(2):
        list(take_turn(engines, turn, [turn], replace(PARAMS, seed=7), STOPS))
    assert asked == [(n, 7, (0,)) for n in "abc"] + [(n, 8, (1,)) for n in "bca"]


def test_another_engine_that_fails_is_left_out_and_ours_is_not(clock):
    def broken(*_):
        raise RuntimeError("no\nluck")

    whole = scripted(clock, [(1, [1] * 6)])
    peer, own = (Engine(family, "broken", "float32", 1, broken) for family in ("lookup", "speculative"))
    dropped = []
    runs = list(warm_up([peer, whole], [0], PARAMS, STOPS, lambda engine, error: dropped.append((engine, str(error)))))
    assert [run.engine for run in runs] == [whole] and dropped == [(peer, "no\nluck")]
    with pytest.raises(RuntimeError):
        list(warm_up([own], [0], PARAMS, STOPS, None))
    with pytest.raises(Miscount):
        list(warm_up([scripted(clock, [(1, [1] * 6)], said=3, family="lookup")], [0], PARAMS, STOPS, None))


# ---------------------------------------------------------------- numbers


def test_a_spread_is_median_and_quartiles():
    assert Spread.of([]) is None
    assert Spread.of([5.0]) == (5, 5, 5, 1)
    assert Spread.of([3, 1, 2]) == (2, 1, 3, 3), "of three the extremes"
    assert Spread.of([5, 1, 2, 3, 4]) == (3, 2, 4, 5)


def test_rows_and_their_limit(clock):
    engine = scripted(clock, [(2, [1]), (1, [2, 3, 4, 5, 6])], size=20)
    (row,) = rows([take(engine, turn, [0], PARAMS, STOPS) for turn in range(2)], read_speed=200.0)
    assert row.per_second.median == 5 and row.first_s.median == 2 and row.per_pass.median == 5
    assert (row.limit, row.of_limit, row.tokens) == (10, 0.5, 12)


def runs_of(clock, family, seconds, numbers="bfloat16", k=None):
    """Six tokens a turn, five of them in so many seconds, the first in a tenth of that."""
    found = []
    for turn, each in enumerate(seconds):
        engine = scripted(clock, [(each / 10, [1]), (each, [2, 3, 4, 5, 6])], family=family, numbers=numbers)
        found.append(replace(take(engine, turn, [0], PARAMS, STOPS), engine=replace(engine, write=id, k=k)))
    return found


def test_ratios_are_of_the_same_turn_and_the_best_k_counts(clock):
    runs = [
        *runs_of(clock, "target", [2, 20]),
        *runs_of(clock, "speculative", [4, 40], k=1),
        *runs_of(clock, "speculative", [1, 10], k=2),
        *runs_of(clock, "transformers", [4, 40]),
        *runs_of(clock, "assisted", [3, 30], k=2),
        *runs_of(clock, "unseen", [1.9, 19]),
    ]
    found = [(ratio.spread.median, ratio.bar, ratio.met) for ratio in ratios(runs, {})]
    expected = [(2, 1.8, True), (2, 1.5, True), (3, 2.0, True), (0.5, 1.1, True), (0.95, 0.97, False)]
    assert found == [(pytest.approx(value), bar, met) for value, bar, met in expected]
    assert all(ratio.spread.low == pytest.approx(ratio.spread.high) for ratio in ratios(runs, {})), "turn by turn"


def test_a_ratio_needs_both_and_a_bar_is_one_sided(clock):
    assert ratios(runs_of(clock, "target", [1]), {}) == []
    assert Ratio("", Spread.of([1.2]), 1.1, at_least=False).met is False
    assert Ratio("", Spread.of([1.2])).met is None
    int4 = [*runs_of(clock, "target", [1], "int4"), *runs_of(clock, "llama.cpp", [1], "Q4_1")]
    assert [(ratio.bar, ratio.met) for ratio in ratios(int4, {})] == [(0.9, True)]


@pytest.mark.parametrize(
    ("median", "bar", "shown"),
    [(0.0604, 0.06, "0.0604"), (0.0596, 0.06, "0.06"), (1.234, 1.1, "1.23"), (0.9, None, "0.90")],
)
def test_a_quotient_is_shown_on_the_side_of_its_bar_where_it_is(median, bar, shown):
    report = SimpleNamespace(ratios=[Ratio("", Spread.of([median]), bar, at_least=False)])
    ((_, told, *_),) = comparisons(report)
    assert told.startswith(shown) and (bar is None or report.ratios[0].keeps(float(told)) == report.ratios[0].met)


def test_memory_is_read_at_a_speed_that_memory_has():
    assert 1e8 < read_speed(torch.device("cpu")) < 1e13


# ---------------------------------------------------------------- the command


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    home = tmp_path_factory.mktemp("bench")
    for name, config, seed in (("target", tiny_config(3), 1), ("draft", tiny_config(1), 2)):
        tiny_model(config, seed).save_pretrained(home / name)
        byte_tokenizer().save_pretrained(home / name)
    return home


def command(folders, *more):
    models = ["--target", str(folders / "target"), "--draft", str(folders / "draft"), "--dtype", "float32"]
    return ["bench", *models, "--max-new-tokens", "6", "--runs", "2", *more]


def test_all_of_it(folders, capsys, tmp_path):
    files = [tmp_path / name for name in ("run.json", "run.html")]
    options = ["--k", "1,3", "--assisted-k", "2", "--json", str(files[0]), "--html", str(files[1])]
    assert main(command(folders, *options)) == 0
    out, err = capsys.readouterr()
    names = [
        "specdemo, target only, float32",
        "specdemo, K = 1, float32",
        "specdemo, K = 3, float32",
        "specdemo, K auto, float32",
        "specdemo, target only, unseen, float32",
        "specdemo, K = 1, unseen, float32",
        "transformers generate, float32",
        "transformers prompt lookup, float32",
        "transformers assisted, its schedule, float32",
        "transformers assisted, K = 2, float32",
    ]
    for name in names:
        assert f"1/2  {name}: " in err and f"2/2  {name}: " in err and f"\n{name} " in out
    assert "tokens/s" in out and "GB/s" in out and "1 of" in out
    assert "A round of K = 1, float32, ms: draft's passes" in out
    assert "compared turn by turn" in out and "outside both models' passes" in out
    assert "llama.cpp is not measured: " in out
    data = json.loads(files[0].read_text())
    assert data["complete"] is True and data["read_speed"] > 0
    assert [f"{e['title']}, {e['numbers']}" for e in data["engines"]] == names
    assert all(e["tokens"] == 12 and e["tokens_per_second"]["n"] == 2 for e in data["engines"])
    assert data["settings"]["turns"] == 2 and data["machine"]["threads"] == 1
    assert set(data["profiles"]) == {"float32"} and 0 < data["profiles"]["float32"]["outside"] < 1
    page = files[1].read_text("utf-8")
    assert all(f"<td>{name}</td>" in page for name in names) and "Plotly.react" in page and "[[" not in figures_of(page)
    shown = json.loads(figures_of(page))
    assert [len(shown[theme]) for theme in ("light", "dark")] == [4, 4]
    assert all(go.Figure(figure) for theme in shown.values() for figure in theme), "plotly refuses one"
    assert shown["light"][0]["layout"]["yaxis"]["ticktext"] == names


def figures_of(page: str) -> str:
    start = page.index("const figures = ") + len("const figures = ")
    return page[start : page.index(", config = ", start)]


def test_only_and_skip(folders, capsys):
    assert main(command(folders, "--only", "target,transformers,profile", "--skip", "profile")) == 0
    out, _ = capsys.readouterr()
    assert "transformers generate" in out and "K = 2" not in out and "A round of" not in out
    assert main(command(folders, "--only", "profile", "--k", "2")) == 0
    assert "A round of K = 2, float32, ms: " in capsys.readouterr().out


def test_several_dtypes_share_the_turns(folders, capsys):
    argv = command(folders, "--only", "target,transformers")
    argv[argv.index("float32")] = "float32,bfloat16"
    assert main(argv) == 0
    out, err = capsys.readouterr()
    told = [line.partition(": ")[0] for line in err.splitlines() if line.startswith("1/2")]
    engines = ("specdemo, target only", "specdemo, target only", "transformers generate", "transformers generate")
    numbers = ("float32", "bfloat16", "float32", "bfloat16")
    assert sorted(told) == sorted(f"1/2  {engine}, {n}" for engine, n in zip(engines, numbers))
    assert "bfloat16: 0 MB a token" in out


def test_llama_cpp_that_is_not_installed_is_said(folders, capsys, monkeypatch):
    monkeypatch.setattr(llama_cpp, "find_spec", lambda name: None)
    assert main(command(folders, "--only", "target,llama.cpp")) == 0
    out, _ = capsys.readouterr()
    assert "llama.cpp is not measured: it is not installed (pip install -r requirements-bench.txt)." in out
    assert main(command(folders, "--only", "llama.cpp")) == 2
    assert capsys.readouterr().err.endswith("specdemo: no engine is left to be measured\n")


def test_llama_cpp_needs_a_gguf_file(folders, capsys, monkeypatch):
    monkeypatch.setattr(llama_cpp, "find_spec", lambda name: object())
    assert main(command(folders, "--only", "target,llama.cpp")) == 0
    assert "llama.cpp is not measured: target does not come from a GGUF file." in capsys.readouterr().out


def test_a_miscount_ends_it_in_one_line(folders, capsys, monkeypatch):
    real = run_module._check
    monkeypatch.setattr(run_module, "_check", lambda engine, said, *rest: real(engine, said + 1, *rest))
    assert main(command(folders, "--only", "target")) == 2
    out, err = capsys.readouterr()
    assert out == "" and "specdemo, target only, float32 says that it wrote 7 tokens, and 6 came" in err


def test_ctrl_c_keeps_what_was_measured(folders, capsys, monkeypatch, tmp_path):
    """In the second turn; the file is written too."""
    left = [2 + 2 + 1]  # warm-up, the first turn, one of the second
    real = run_module._check

    def check(*args):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        real(*args)

    monkeypatch.setattr(run_module, "_check", check)
    file = tmp_path / "run.json"
    assert main(command(folders, "--only", "target,transformers", "--json", str(file))) == 130
    out, _ = capsys.readouterr()
    assert out.startswith("Interrupted: what had been measured until then.") and "transformers generate" in out
    data = json.loads(file.read_text())
    assert data["complete"] is False
    assert sorted(engine["tokens_per_second"]["n"] for engine in data["engines"]) == [1, 2]


def test_ctrl_c_before_anything_was_measured(folders, capsys, monkeypatch):
    def check(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "_check", check)
    assert main(command(folders, "--only", "target")) == 130
    out, err = capsys.readouterr()
    assert out == "" and err.endswith("specdemo: interrupted\n")


def test_a_real_interrupt_in_the_middle(folders):
    """A signal while the library's loop runs."""
    argv = [sys.executable, "-m", "specdemo", *command(folders, "--only", "target,transformers", "--runs", "100000")]
    restored = "import signal, runpy, sys; signal.signal(signal.SIGINT, signal.default_int_handler); del sys.argv[0]"
    argv[1:3] = ["-c", f"{restored}; runpy.run_module('specdemo', run_name='__main__')", "specdemo"]
    child = subprocess.Popen(
        argv,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    for line in child.stderr:
        if line.startswith("3/"):
            child.send_signal(signal.SIGINT)
            break
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 130
    assert out.startswith("Interrupted") and "transformers generate" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--k", "0"], "--k is '0'; it must be whole numbers from 1 to 64, such as 2 or 1,2,4 or 1-8"),
        (["--k", "two"], "--k is 'two'"),
        (["--k", "1-999999999999"], "--k is '1-999999999999'"),
        (["--k", "4-2"], "--k is '4-2'"),
        (["--assisted-k", ""], "--assisted-k is ''"),
        (["--runs", "0"], "--runs is 0; it must be a whole number, at least 1"),
        (["--max-new-tokens", "1"], "--max-new-tokens is 1; it must be a whole number, at least 2"),
        (["--temperature", "-1"], "temperature is -1.0"),
        (["--only", "vllm"], f"--only has 'vllm'; it may have {', '.join(FAMILIES)}"),
        (["--skip", ",".join(FAMILIES)], "--only and --skip leave nothing to be measured"),
        (["--dtype", "float32,int3"], "--dtype has 'int3'; it may have auto, float32,"),
        (["--prompt", " "], "the prompt is empty"),
        (["--json", "/nowhere/x.json"], "/nowhere/x.json cannot be written"),
        (["--pair", "none"], "--pair is 'none'"),
    ],
)
def test_a_mistake_is_said_in_one_line_before_anything_is_loaded(options, words, capsys, monkeypatch):
    monkeypatch.setattr("specdemo.cli.load.load_pair", None)
    assert main(["bench", *options]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.replace("Loading …\n", "").startswith(f"specdemo: {words}") and "Traceback" not in err


def test_a_run_beyond_the_context_is_said_in_one_line(folders, capsys):
    assert main([*command(folders), "--max-new-tokens", "5000"]) == 2
    assert "come to" in capsys.readouterr().err


def test_the_defaults_are_the_issue_s():
    args = parser().parse_args(["bench"])
    assert (args.k, args.temperature, args.seed) == ("1-8", USUAL_TEMPERATURE, 0)
    assert len(PROMPTS) == 5 and all(FAMILIES.values())


def test_llama_cpp_takes_its_turns(folders, capsys, monkeypatch, tmp_path):
    """A package of its interface, on a file that the target might have come from."""
    file = tmp_path / "target.Q4_1.gguf"

    class Llama:
        def __init__(self, path, **_):
            assert path == str(file)
            self.model, self.n_tokens = None, 0

        def reset(self):
            self.n_tokens = 0

        def set_seed(self, seed):
            pass

        def generate(self, tokens, **_):
            self.n_tokens = len(tokens)
            while True:
                yield 77
                self.n_tokens += 1

        def close(self):
            pass

    package = SimpleNamespace(Llama=Llama, llama_model_size=lambda model: 5_000_000)
    monkeypatch.setitem(sys.modules, "llama_cpp", package)
    monkeypatch.setattr(llama_cpp, "find_spec", lambda name: object())
    monkeypatch.setattr(llama_cpp, "why_not", lambda *_: None)
    monkeypatch.setattr("specdemo.bench.engines.gguf_of", lambda *_: file)
    assert main(command(folders, "--only", "target,llama.cpp")) == 0
    out, _ = capsys.readouterr()
    assert "\nllama.cpp, Q4_1 " in out and "Q4_1: 5 MB a token" in out
    assert "specdemo, target only, float32 / llama.cpp, Q4_1" in out
    monkeypatch.setattr(llama_cpp, "why_not", lambda *_: "it fell over")
    assert main(command(folders, "--only", "target,llama.cpp")) == 0
    assert "llama.cpp is not measured: it fell over." in capsys.readouterr().out
