"""Imports point down only, three heavy libraries live in one room each, and importing any of it does nothing."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]

#: From the bottom up; what stands in one line does not know of each other. A room is a module or a package.
FLOORS = [
    ["words"],
    ["records", "files"],
    ["maths", "palette", "clock", "spot", "fit", "pace"],
    ["narrow"],
    ["contract"],
    ["models", "drafters", "text", "memo", "lab"],
    ["block", "peers"],
    ["course", "steps", "graphs"],
    ["engine", "captured"],
    ["race", "metrics", "trace", "lanes", "check"],
    ["pay", "sweep", "trial"],
    ["view"],
    ["session", "bench"],
    ["space", "replicas"],
    ["ui"],
    ["cli"],
    ["__main__", "app"],
]
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

#: Which rooms alone may import a library. Others' generation is a peer of ours, so `peers` knows the library as such.
HOMES = {
    "transformers": {"models", "peers"},
    "tokenizers": {"models"},
    "huggingface_hub": {"models"},
    "llama_cpp": {"peers"},
    "gradio": {"ui"},
    "prometheus_client": {"ui"},
    "plotly": {"view"},
    "spaces": {"space"},
    "ray": {"replicas"},
    "yaml": {"space"},
}

#: Rooms that must work where nothing but Python is.
BARE = ["words", "records", "files", "spot", "palette", "text", "trace", "metrics", "race", "pay"]


class Import(NamedTuple):
    """Module `source` imports `target`; lazily where the import stands inside a function."""

    source: str
    target: str
    lazy: bool
    line: int


def modules() -> dict[str, Path]:
    """Every module's name, the package's own left out ("" is the package itself), and its file."""
    paths = [*(ROOT / "specdemo").rglob("*.py"), ROOT / "app.py"]
    return {name_of(path): path for path in sorted(paths)}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[1:] if parts[0] == "specdemo" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(name: str, path: Path) -> Iterator[Import]:
    """All imports of a module by their full names; ours begin with "specdemo"."""
    tree = ast.parse(path.read_text("utf-8"))
    lazy = {inner for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.Lambda) for inner in ast.walk(f)}
    package = ["specdemo", *name.split(".")] if name else ["specdemo"]
    package = package if path.name == "__init__.py" else package[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = ".".join(package[: len(package) + 1 - node.level]) if node.level else ""
            base = ".".join(filter(None, [start, node.module]))
            targets = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (Import(name, target, node in lazy, node.lineno) for target in targets)


MODULES = modules()
IMPORTS = [found for name, path in MODULES.items() for found in imports_of(name, path)]


def within(target: str) -> str | None:
    """The module of ours that a full name means: "specdemo.maths.draw" is in "maths"."""
    if target.split(".")[0] != "specdemo":
        return None
    parts = target.split(".")[1:]
    while ".".join(parts) not in MODULES:
        parts.pop()
    return ".".join(parts)


OURS = [(i, within(i.target)) for i in IMPORTS if within(i.target) is not None]


def room(module: str) -> str:
    return module.split(".")[0]


def test_the_imports_were_found() -> None:
    found = {(i.source, target, i.lazy) for i, target in OURS}
    assert {
        ("engine", "steps", False),
        ("drafters.model", "contract", False),
        ("models", "models.loading", True),
    } <= found
    assert ("app", "ui.serve", False) in found


def test_every_room_has_its_floor() -> None:
    assert {room(name) for name in MODULES} - {""} <= FLOOR.keys()


def test_imports_point_down() -> None:
    """The package itself holds nothing, so nobody imports from it but to name a module."""
    wrong = [
        f"{i.source}:{i.line} imports {target or i.target}"
        for i, target in OURS
        if room(target) != room(i.source) and (not target or FLOOR[room(target)] >= FLOOR[room(i.source)])
    ]
    assert wrong == []


def test_there_is_no_cycle_not_even_a_lazy_one() -> None:
    graph: dict[str, set[str]] = {}
    for i, target in OURS:
        if target != i.source:
            graph.setdefault(i.source, set()).add(target)
    list(TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("library", HOMES)
def test_a_library_stays_at_home(library: str) -> None:
    assert {room(i.source) for i in IMPORTS if i.target.split(".")[0] == library} <= HOMES[library]


@pytest.mark.parametrize("name", BARE)
def test_a_bare_room_needs_nothing_but_python(name: str) -> None:
    outside = {i.target.split(".")[0] for i in IMPORTS if i.source == name} - {"specdemo"}
    assert outside <= sys.stdlib_module_names
    assert all(room(target) in BARE for i, target in OURS if i.source == name)


def test_an_import_inside_a_function_says_why() -> None:
    silent = []
    for i in IMPORTS:
        if i.lazy and not MODULES[i.source].read_text("utf-8").splitlines()[i.line - 2].lstrip().startswith("#"):
            silent.append(f"{i.source}:{i.line} {i.target}")
    assert silent == []


# Libraries first: what they do is not ours. Then every module of ours, while the interpreter reports what happens.
WATCHED_IMPORT = """
import importlib, os, random, sys, threading
import gradio, plotly.graph_objects, prometheus_client, tokenizers, torch, transformers, huggingface_hub
from torch.overrides import TorchFunctionMode

lazy = ["AutoConfig", "AutoTokenizer", "AutoModelForCausalLM", "PreTrainedModel", "PreTrainedTokenizerBase"]
[getattr(transformers, name) for name in lazy]
import transformers.cache_utils, transformers.utils.logging

faults = []
sources = tuple(os.path.realpath(p) for p in [sys.prefix, sys.base_prefix, os.getcwd()])

def watch(event, args):
    if event == "open":
        path, mode, flags = args
        reads = isinstance(path, str) and not (flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        code = str(path).endswith((".py", ".pyc", ".so")) and os.path.realpath(path).startswith(sources)
        if not (reads and code):
            faults.append(f"{event} {path}")
    elif event.split(".")[0] in ("socket", "subprocess", "shutil", "tempfile", "urllib", "ctypes", "signal"):
        faults.append(f"{event} {args!r:.100}")
    elif event in ("os.system", "os.mkdir", "os.remove", "os.rename", "os.putenv", "os.exec", "os.fork", "os.chdir"):
        faults.append(f"{event} {args!r:.100}")

class Argv(list):
    def _refuse(self, *args):
        faults.append("sys.argv was looked at")
        return ""
    __getitem__ = __iter__ = __len__ = _refuse

class NoTensors(TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        faults.append(f"torch: {function}")
        return function(*args, **(kwargs or {}))

def state():
    return (dict(os.environ), threading.enumerate(), random.getstate(), torch.get_rng_state().tolist(),
            torch.get_num_threads(), torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled(),
            torch.backends.mkldnn.enabled, sys.stdout, sys.stderr, sys.excepthook, os.getcwd())

for name in ("is_available", "device_count", "init", "current_device"):
    setattr(torch.cuda, name, lambda *a, name=name: faults.append(f"torch.cuda.{name}"))
before = state()
sys.argv = Argv()
sys.addaudithook(watch)
with NoTensors():
    for module in MODULES:
        importlib.import_module(module)
if state() != before:
    faults.append("something global has changed")
print("\\n".join(dict.fromkeys(faults)))
"""


def test_importing_does_nothing() -> None:
    """No look at argv or a device, no file but code, no network, no process, no thread, no tensor, no global state."""
    names = ["app" if name == "app" else ".".join(filter(None, ["specdemo", name])) for name in MODULES]
    done = subprocess.run(
        [sys.executable, "-B", "-c", f"MODULES = {names}\n{WATCHED_IMPORT}"], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout + done.stderr
