"""All of a Space that can be checked without one: a finding for each thing that is looked at."""

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ..models import LoadError, Pair
from . import front, luggage, needs, trial
from .zero import gpu, on_zero, seconds

_LICENCES = {"apache-2.0": "Apache License"}


class Finding(NamedTuple):
    """What was looked at, what was found, and whether it is as it must be."""

    name: str
    sound: bool
    words: str


def findings(root: Path, load: Callable[[], Pair]) -> Iterator[Finding]:
    """Of the clone in `root`, and of a pair that is loaded for what needs one."""
    yield _finding("front matter", lambda: _front(root))
    yield _finding("versions", lambda: _versions(root))
    yield _finding("licence", lambda: _licence(root))
    yield _finding("files", lambda: _files(root))
    yield _finding("decorator", _decorator)
    try:
        pair = load()
    except LoadError as error:
        yield Finding("pair", False, str(error))
        return
    asked = trial.work()
    yield _finding("pickles", lambda: trial.pickled(asked, trial.here(pair, asked)))
    yield _finding("forked worker", lambda: _forked(pair, asked))


def _finding(name: str, look: Callable[[], str]) -> Finding:
    """`look` gives the words for what is sound, and raises ValueError or OSError with those for what is not."""
    try:
        return Finding(name, True, look())
    except (ValueError, OSError) as error:
        return Finding(name, False, str(error))


def _none(faults: Iterable[str]) -> None:
    if told := "; ".join(faults):
        raise ValueError(told)


def _front(root: Path) -> str:
    found = front.front_matter(root / "README.md")
    _none(front.faults(found))
    if not (root / str(found["app_file"])).is_file():
        raise ValueError(f"app_file is {found['app_file']}, and there is no such file")
    return f"{len(found)} fields, \"{found['title']}\" by {found['sdk']} {found['sdk_version']}"


def _versions(root: Path) -> str:
    found = front.front_matter(root / "README.md")
    _none(needs.faults(root, found))
    pin = needs.wanted(root / needs.ON_SPACES)["torch"].specifier
    offered = ", ".join(needs.ZERO_TORCH)
    return f"gradio {found['sdk_version']}, Python {found['python_version']}, torch{pin} of {offered}"


def _licence(root: Path) -> str:
    name = str(front.front_matter(root / "README.md").get("license"))
    text = (root / "LICENSE").read_text("utf-8")
    if _LICENCES.get(name, name) not in text[:200]:
        raise ValueError(f"license is {name!r}, and LICENSE begins with {text.split(chr(10))[0].strip()!r}")
    return name


def _files(root: Path) -> str:
    paths = luggage.travelling(root)
    _none(luggage.faults(root, paths))
    return f"{len(paths)} with {sum(path.stat().st_size for path in paths) / 1e6:.0f} MB, no secret found"


def _decorator() -> str:
    if find_spec("spaces") is None:
        return "the package spaces is not installed here, and not needed"

    def far(work: object) -> Iterator[object]:
        yield work

    if not on_zero() and gpu()(duration=seconds)(far) is not far:
        raise ValueError("spaces.GPU wraps a function although this is no Space on ZeroGPU")
    return "spaces.GPU gives a function back as it is" if not on_zero() else "this is a Space on ZeroGPU"


def _forked(pair: Pair, asked: trial.Work) -> str:
    if not trial.can_fork():
        return "not tried: this system does not fork as ZeroGPU does"
    far, near = trial.forked(pair, asked), trial.here(pair, asked)
    if trial.written(far) != trial.written(near):
        raise ValueError("it writes other tokens than this process does")
    rounds = sum(len(lane) for lane in trial.written(far).values())
    return f"{rounds} rounds of both lanes, the same tokens as in this process"
