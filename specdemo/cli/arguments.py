"""The words of the command line and their help. Standard library only, so that help is there at once."""

import argparse
from dataclasses import fields
from typing import NoReturn

from ..bench.families import FAMILIES
from ..pace import USUAL_K
from ..palette import PALETTE
from ..records import USUAL_TEMPERATURE, SamplingParams
from ..words import ENGLISH

PROMPT = "Explain why the sky is blue."

DTYPES = ("auto", "float32", "bfloat16", "float16", "int4")

_DEFAULTS = {field.name: field.default for field in fields(SamplingParams)}

_PROGRAM = "python -m specdemo"

_TOP = f"""\
Speculative sampling, visible, exact and measurable: a small draft model guesses, the target checks, and the text is
the target's own.

  python -m specdemo serve                         open the page
  python -m specdemo generate "{PROMPT}"
  python -m specdemo check                         is it lossless? exits with 1 when not
  python -m specdemo memory --pair qwen3-8b        will it fit here?
  python -m specdemo bench                         how fast is it, beside other engines on the same weights?
"""

_SPACE = """\
A Hugging Face Space runs this clone as it is. Check what can be checked without one, a line each: the front matter of
README.md, versions, licence, files, and on the embedded pair that work on it pickles and that a forked worker writes
the same tokens. Exits with 1 when anything is wrong.
"""

_CHECK = """\
Is it lossless? The law test on the loaded models after a real prompt.

  exact    for each token of the vocabulary: kept as a draft or drawn after a refusal, it comes out with exactly the
           target's probability
  sampled  thousands of runs of the engine: their first tokens against the target's probabilities, by chi-square and
           total variation

Exit status: 0 lossless, 1 not, 2 something went wrong.
"""

_BENCH = "\n".join(
    (
        "How fast is it? Engines on the same weights take turns, with the same prompts and sampling; one clock.",
        "The default takes about two minutes on two cores. Ctrl-C ends it early and keeps what was measured.\n",
        *(f"  {name:12}  {what}" for name, what in FAMILIES.items()),
    )
)


_MEMORY = """\
Will the models fit, and on what? Told from their configurations, before a weight is fetched or read.

Exit status: 0 they fit, 1 they do not, 2 something went wrong.
"""


def _generate() -> str:
    outcomes = (outcome for outcome in PALETTE if outcome != "plain")
    return "\n".join(
        (
            "Write a text with a target and a draft. In a terminal every token shows how it came to be:\n",
            *(f"  {PALETTE[o].glyph} {ENGLISH[o]:9}  {ENGLISH[f'{o}_meaning']}" for o in outcomes),
            "\nThe measured numbers follow. A pipe gets the text without marks, then the numbers.",
        )
    )


class _Parser(argparse.ArgumentParser):
    """One line for a mistake, and where to read more."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"specdemo: {message} (see: {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    top = _Parser(prog=_PROGRAM, **_style("COMMAND …", _TOP))
    _add_help(top)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands")
    adders = (_add_generate, _add_check, _add_bench, _add_memory, _add_serve, _add_space, _add_replay, _add_pairs)
    for add in adders:
        add(commands)
    return top


def _style(usage: str, description: str) -> dict[str, object]:
    return {
        "usage": f"{_PROGRAM} {usage}",
        "description": description,
        "formatter_class": argparse.RawDescriptionHelpFormatter,
        "allow_abbrev": False,
        "add_help": False,  # ours says it in a sentence of our own style
    }


def _command(commands, name: str, usage: str, title: str, description: str) -> argparse.ArgumentParser:
    style = _style(f"{name} {usage}".rstrip(), description)
    command = commands.add_parser(name, prog=f"{_PROGRAM} {name}", help=title, **style)
    _add_help(command)
    return command


def _add_help(command: argparse.ArgumentParser) -> None:
    command.add_argument("-h", "--help", action="help", help="show this help")


def _add_generate(commands) -> None:
    command = _command(commands, "generate", "PROMPT [options]", "write a text in the terminal", _generate())
    command.add_argument("prompt", metavar="PROMPT", help="the prompt; - reads it from standard input")
    _add_models(command)
    sampling = _add_sampling(command, k=USUAL_K, seed=None, auto=True)
    _add(sampling, "--max-new-tokens", int, "tokens to write, at most", "N", _DEFAULTS)
    _add_graphs(command)
    output = command.add_argument_group("output")
    output.add_argument(
        "--baseline", action="store_true", help="race the target alone too, in turns, and measure the speed-up"
    )
    text = "write the run as JSON, packed if FILE ends in .gz; the page and `replay` can show it"
    output.add_argument("--trace", metavar="FILE", help=text)
    output.add_argument("--json", action="store_true", help="one JSON object a round and a last one with the numbers")
    _add_colour(output)


def _add_check(commands) -> None:
    command = _command(commands, "check", "[PROMPT] [options]", "is it lossless?", _CHECK)
    command.add_argument("prompt", metavar="PROMPT", nargs="?", default=PROMPT, help=f"the prompt (default: {PROMPT})")
    _add_models(command)
    _add_sampling(command, k=USUAL_K, seed=0)
    command.add_argument(
        "--samples", type=int, default=3000, metavar="N", help="runs of the engine, at least 200 (default: 3000)"
    )


def _add_bench(commands) -> None:
    command = _command(commands, "bench", "[options]", "how fast is it, beside others?", _BENCH)
    numbers = f"{', '.join(DTYPES)}; or several, with commas between them"
    _add(_add_pair(command), "--dtype", str, numbers, "LIST", {"dtype": "auto"})
    sampling = _add_sampling(command, seed=0)
    _add(sampling, "--max-new-tokens", int, "tokens a run, at least 2", "N", {"max_new_tokens": 48})
    work = command.add_argument_group("what is measured")
    work.add_argument(
        "--prompt",
        action="append",
        metavar="TEXT",
        help="a prompt of your own, once or more (default: five fixed ones)",
    )
    _add(work, "--k", str, "K of our speculative lane, such as 2 or 1,2,4 or 1-8", "LIST", {"k": "1-8"})
    _add(work, "--assisted-k", str, "K of the library's assisted generation", "LIST", {"assisted_k": "2,4"})
    _add(work, "--runs", int, "turns that each engine takes, at least 1", "N", {"runs": 3})
    work.add_argument("--only", metavar="LIST", help="of the words above, those to measure (default: all)")
    work.add_argument("--skip", metavar="LIST", help="of the words above, those to leave out")
    output = command.add_argument_group("output", "besides the table")
    output.add_argument("--json", metavar="FILE", help="write all numbers as JSON")
    output.add_argument("--html", metavar="FILE", help="write a page of figures and tables that opens in any browser")


def _add_memory(commands) -> None:
    command = _command(commands, "memory", "[options]", "will the models fit, and on what?", _MEMORY)
    group = _add_models(command)
    _add(group, "--context", int, "tokens of a text that there is to be room for", "N", {"context": 4096})


def _add_serve(commands) -> None:
    command = _command(commands, "serve", "[options]", "open the page", "Serve the page until Ctrl-C.")
    command.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine)")
    command.add_argument("--lan", action="store_true", help="listen on every address, so that others can open the page")
    command.add_argument("--port", type=int, help="port (default: 7860, or the next one that is free)")
    command.add_argument("--pair", default="embedded", metavar="NAME", help="models to load first (see: pairs)")
    _add_map(command, "on one device, a GPU if there is one")
    _add_graphs(command)
    command.add_argument(
        "--replicas",
        metavar="N",
        help="work on N replicas by Ray Serve, or on as many as runs wait for with two numbers such as 1-4",
    )
    command.add_argument("--ray", metavar="ADDRESS", help="of a Ray cluster for the replicas (default: this machine)")
    command.add_argument("--open", action="store_true", help="open the page in the browser")
    command.add_argument(
        "--auth", metavar="USER:PASSWORD", help="ask for a login; better given as SPECDEMO_AUTH in the environment"
    )
    command.add_argument("--log-prompts", action="store_true", help="log the prompts of runs, too (default: never)")
    command.add_argument("--metrics", action="store_true", help="counts for Prometheus at /specdemo/metrics")
    many = command.add_argument_group("many people", "whoever comes while others are served waits in line")
    text = "runs that the device works on at a time; more than 1 disturb each other's clocks"
    _add(many, "--at-once", int, text, "N", {"at_once": 1})
    text = "seconds after which a run ends with what it has written"
    _add(many, "--most-seconds", int, text, "S", {"most_seconds": 120})


def _add_space(commands) -> None:
    command = _command(commands, "space", "check", "is this clone fit for a Space?", _SPACE)
    command.add_argument("what", metavar="check", choices=["check"], help="check all that can be checked without one")


def _add_replay(commands) -> None:
    text = "Show a run that was saved by --trace or by the page; needs no model."
    command = _command(commands, "replay", "FILE [options]", "show a saved run", text)
    command.add_argument("file", metavar="FILE", help="a run as JSON")
    _add_colour(command)


def _add_pairs(commands) -> None:
    _command(commands, "pairs", "", "list the models on offer", "List the models on offer.")


def _add_models(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = _add_pair(command)
    _add_map(group)
    group.add_argument(
        "--dtype", default="auto", choices=DTYPES, metavar="NAME", help=f"{', '.join(DTYPES)} (default: auto)"
    )
    return group


def _add_graphs(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--graphs",
        action="store_true",
        help="record the steps of a round as CUDA graphs, on a GPU, if a short text comes out alike",
    )


def _add_map(group, default: str = "where --device says") -> None:
    group.add_argument(
        "--device-map",
        metavar="MAP",
        help="where the target lies: auto (GPUs, then the CPU's memory, by what is free), a device, or a JSON object "
        f"from parts of its module to devices (default: {default})",
    )


def _add_pair(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = command.add_argument_group("models", "a pair on offer, or two models of your own that share a tokenizer")
    group.add_argument("--pair", metavar="NAME", help="a pair of the list that `pairs` prints (default: embedded)")
    group.add_argument("--target", metavar="MODEL", help="hub id or folder of the target; needs --draft")
    group.add_argument("--draft", metavar="MODEL", help="hub id or folder of the draft; needs --target")
    group.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda, cuda:1, mps, … (default: auto)")
    group.add_argument("--raw", action="store_true", help="continue the prompt as it stands, without a chat template")
    return group


def _add_sampling(
    command: argparse.ArgumentParser,
    *,
    seed: int | None,
    k: int | None = None,
    auto: bool = False,
) -> argparse._ArgumentGroup:
    """With `k` the option --k too, which may be auto with `auto`."""
    group = command.add_argument_group("sampling", "the same for target and draft, at every position")
    if auto:
        text = "tokens to draft a round, or auto: by measured costs and acceptance; 0 where drafting would not pay"
        _add(group, "--k", _drafts, text, "K", {"k": k})
    elif k is not None:
        _add(group, "--k", int, "tokens to draft a round", "K", {"k": k})
    _add(group, "--temperature", float, "0 is greedy", "T", {"temperature": USUAL_TEMPERATURE})
    _add(group, "--top-k", int, "keep the N likeliest tokens; 0 keeps all", "N", _DEFAULTS)
    _add(group, "--top-p", float, "keep the likeliest tokens that hold this mass; 1 keeps all", "P", _DEFAULTS)
    _add(group, "--min-p", float, "keep tokens this likely relative to the likeliest; 0 keeps all", "P", _DEFAULTS)
    _add(group, "--seed", int, "repeats a run on the same machine", "N", {"seed": seed})
    return group


def _drafts(text: str) -> int | None:
    """K; None for auto."""
    try:
        return None if text == "auto" else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a whole number nor auto") from None


def _add(group, name: str, kind: type, text: str, metavar: str, defaults: dict[str, object]) -> None:
    default = defaults[name.removeprefix("--").replace("-", "_")]
    shown = "a new one each time" if default is None else default
    group.add_argument(name, type=kind, default=default, metavar=metavar, help=f"{text} (default: {shown})")


def _add_colour(group) -> None:
    choices = ("auto", "always", "never")
    group.add_argument(
        "--color",
        choices=choices,
        default="auto",
        metavar="WHEN",
        help=f"{', '.join(choices)} (default: auto, which heeds NO_COLOR)",
    )
