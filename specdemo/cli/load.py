"""The pair and the prompt that a command line asks for."""

import argparse
import shutil
import sys
from typing import TextIO

from ..models import CATALOGUE, LoadError, Pair, PairSpec, load_pair, read_map
from .faults import Fault
from .streams import is_terminal

_CLEAR = "\r\x1b[K"

#: Characters of standard input: more than any model holds.
_MOST_READ = 10_000_000


def prompt_of(args: argparse.Namespace) -> str:
    """The prompt, or standard input for "-". Raises Fault for one that is empty or no text."""
    if args.prompt == "-" and sys.stdin is None:
        raise Fault("the prompt is to come from standard input, which is closed")
    return sound(_read(sys.stdin) if args.prompt == "-" else args.prompt)


def _read(stream: TextIO) -> str:
    """All of it; one that has no end is not waited for. Raises Fault."""
    text = stream.read(_MOST_READ + 1)
    if len(text) > _MOST_READ:
        raise Fault(f"the prompt has more than {_MOST_READ:,} characters, the most that is read")
    return text


def sound(prompt: str) -> str:
    """The prompt itself. Raises Fault for one that is empty or no text."""
    if not prompt.strip():
        raise Fault("the prompt is empty; it must have at least one word")
    if any("\ud800" <= char <= "\udfff" for char in prompt):
        raise Fault("the prompt is not valid text in this terminal's encoding")
    return prompt


def spec_of(args: argparse.Namespace) -> PairSpec:
    """The pair by its name, or the two models. Raises Fault."""
    if args.target is None and args.draft is None:
        return named(next(iter(CATALOGUE)) if args.pair is None else args.pair)
    if args.pair is not None:
        raise Fault("--pair names both models; leave it out to give --target and --draft")
    if args.target is None or args.draft is None:
        raise Fault("--target and --draft go together; one is missing")
    return PairSpec("own", f"{args.target} + {args.draft}", args.target, args.draft)


def named(name: str) -> PairSpec:
    """An entry of the catalogue. Raises Fault."""
    if name not in CATALOGUE:
        raise Fault(f"--pair is {name!r}; it must be one of {', '.join(CATALOGUE)}")
    return CATALOGUE[name]


def checked_map(text: str | None) -> str | None:
    """The device map itself, as it was written. Raises Fault for what is none, before anything is fetched."""
    try:
        read_map(text)
    except LoadError as error:
        raise Fault(str(error)) from error
    return text


def loaded(args: argparse.Namespace) -> Pair:
    """The pair, with its progress on stderr if a person is watching. Raises Fault."""
    spec, device_map = spec_of(args), checked_map(args.device_map)
    try:
        with ProgressLine(sys.stderr) as line:
            how = {"device": args.device, "dtype": args.dtype, "device_map": device_map}
            return load_pair(spec, **how, progress=line.tell)
    except LoadError as error:
        raise Fault(str(error)) from error


def encoded(pair: Pair, prompt: str, raw: bool) -> list[int]:
    """The ids of the prompt, as a turn of the chat template where there is one and `raw` does not forbid it."""
    return pair.encode(prompt, chat=pair.has_chat and not raw)


def drafts_of(args: argparse.Namespace, least: int) -> int | None:
    """K, None for auto. Raises Fault."""
    if args.k is not None and args.k < least:
        raise Fault(f"--k is {args.k}; it must be a whole number, at least {least}")
    return args.k


class ProgressLine:
    """One line that is written over and over on a terminal, and gone in the end; nothing anywhere else.

    What is said stays, on a terminal and elsewhere.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._always = stream
        self._stream = stream if is_terminal(stream) else None

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream:
            self._stream.write(_CLEAR)
            self._stream.flush()

    def say(self, sentence: str) -> None:
        if self._always:
            print(f"{_CLEAR if self._stream else ''}{sentence}", file=self._always, flush=True)

    def tell(self, fraction: float, sentence: str) -> None:
        if self._stream:
            columns = shutil.get_terminal_size().columns
            line = f"{100 * fraction:3.0f} %  {sentence}"
            self._stream.write(_CLEAR + line[: columns - 1])
            self._stream.flush()
