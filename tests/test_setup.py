"""The set-up script, with every process it would start written down instead."""

import ast
import importlib.util
import json
import os
import subprocess
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The script, at work in a folder of its own that has only requirements; `ran` has what it started."""
    spec = importlib.util.spec_from_file_location("start", ROOT / "tools" / "start.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "tools").mkdir()
    for name in ("requirements.txt", "requirements-test.txt", "tools/constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "HOME", tmp_path / ".venv")
    monkeypatch.setattr(module, "PYTHON", tmp_path / ".venv" / "python")
    monkeypatch.setattr(module, "CONSTRAINTS", tmp_path / "tools" / "constraints.txt")

    module.ran, module.refused, module.cpu = [], set(), True

    def run(command, **how):
        words = [str(word) for word in command]
        module.ran.append(words)
        if module.refused & set(words):
            raise subprocess.CalledProcessError(1, command)
        version = "2.13.0+cpu" if module.cpu else "2.13.0"
        report = {"install": [{"metadata": {"version": version}}]}
        return SimpleNamespace(stdout=json.dumps(report) if "--report" in words else "/played/chromium\n")

    def call(command, cwd, env):
        module.ran.append([str(word) for word in command])
        module.environment = env
        return 7

    def create(home: Path, with_pip: bool, clear: bool) -> None:
        home.mkdir()
        (home / "python").touch()
        module.ran.append(["venv", str(home)])

    monkeypatch.setattr(module.subprocess, "run", run)
    monkeypatch.setattr(module.subprocess, "call", call)
    monkeypatch.setattr(module.venv, "create", create)
    monkeypatch.setattr(module.platform, "system", lambda: "Linux")
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    monkeypatch.setattr(module, "_wants_cpu_build", lambda: True)
    monkeypatch.delenv("CHROMIUM", raising=False)
    return module


def pin_of(name: str) -> str:
    """Its line of the constraints."""
    pins = (ROOT / "tools/constraints.txt").read_text().splitlines()
    return next(pin for pin in pins if pin.startswith(f"{name}=="))


def installs(start) -> list[list[str]]:
    """What pip was asked to install, for real."""
    return [words[words.index("install") + 1 :] for words in start.ran if "pip" in words and "--dry-run" not in words]


def test_the_first_time_installs_and_the_second_does_not(start) -> None:
    assert start.main([]) == 7
    assert start.ran[0] == ["venv", str(start.HOME)]
    assert start.ran[-1][1:] == ["-m", "specdemo", "serve", "--open"]
    (words,) = installs(start)
    assert words[-2:] == ["-r", str(start.ROOT / "requirements.txt")] and str(start.CONSTRAINTS) in words
    start.ran.clear()
    assert start.main(["run", "check", "--k", "3"]) == 7
    assert start.ran == [[str(start.PYTHON), "-m", "specdemo", "check", "--k", "3"]]


def test_what_the_tests_need_holds_what_the_page_needs(start) -> None:
    start.main(["test"])
    start.ran.clear()
    start.main([])
    assert installs(start) == []
    start.main(["test"])
    assert installs(start) == []


def test_what_the_page_needs_is_not_enough_for_the_tests(start) -> None:
    start.main([])
    start.ran.clear()
    start.main(["test"])
    assert len(installs(start)) == 1


@pytest.mark.parametrize("name", ["requirements.txt", "tools/constraints.txt"])
def test_what_changed_is_installed_again(start, name: str) -> None:
    start.main([])
    start.ran.clear()
    with (start.ROOT / name).open("a") as file:
        file.write("# changed\n")
    start.main([])
    assert len(installs(start)) == 1 and ["venv", str(start.HOME)] not in start.ran


def test_a_failed_installation_is_said_and_tried_again(start, capsys: pytest.CaptureFixture) -> None:
    start.refused = {"-r"}
    assert start.main([]) == 1
    assert "This step failed" in capsys.readouterr().err
    assert all("specdemo" not in words for words in start.ran)
    start.refused = set()
    start.ran.clear()
    assert start.main([]) == 7 and len(installs(start)) == 1


@pytest.mark.parametrize("cpu", [True, False])
def test_without_a_gpu_torch_is_a_cpu_build(start, cpu: bool) -> None:
    """pip's own choice where that is one, else the one of PyTorch's index, before anything else can ask for torch."""
    start.cpu = cpu
    start.main([])
    asked = [words for words in installs(start) if any(word.startswith("torch") for word in words)]
    assert asked == ([] if cpu else [[pin_of("torch"), "--index-url", start.CPU_INDEX]])
    assert not any("--quiet" in words for words in installs(start)), "minutes without a word"
    assert installs(start)[-1][-2] == "-r"


def test_an_index_that_does_not_answer_stops_nothing(start, capsys: pytest.CaptureFixture) -> None:
    start.cpu, start.refused = False, {start.CPU_INDEX}
    assert start.main([]) == 7
    assert "did not answer" in capsys.readouterr().out
    assert installs(start)[-1][-2] == "-r"


def test_an_index_of_ones_own(start) -> None:
    assert start.main(["--torch-index", "https://example.org/rocm", "run", "pairs"]) == 7
    assert installs(start)[0] == [pin_of("torch"), "--index-url", "https://example.org/rocm"]
    assert start.ran[-1][1:] == ["-m", "specdemo", "pairs"]


@pytest.mark.parametrize(
    ("system", "smi", "wanted"),
    [("Linux", None, True), ("Linux", "/usr/bin/nvidia-smi", False), ("Darwin", None, False), ("Windows", None, False)],
)
def test_who_wants_a_cpu_build(
    monkeypatch: pytest.MonkeyPatch, start, system: str, smi: str | None, wanted: bool
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(start.platform, "system", lambda: system)
    monkeypatch.setattr(start.shutil, "which", lambda name: smi)
    monkeypatch.setattr(start.Path, "exists", lambda path: False)
    assert start._wants_cpu_build() is wanted


def test_tests_get_a_browser_and_their_words(start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start.shutil, "which", lambda name: f"/usr/bin/{name}" if name == "google-chrome" else None)
    assert start.main(["test", "-q", "tests/test_law.py"]) == 7
    assert start.ran[-1][1:] == ["-m", "pytest", "-q", "tests/test_law.py"]
    assert start.environment["CHROMIUM"] == "/usr/bin/google-chrome"
    assert start.environment["PATH"] == os.environ["PATH"]
    assert installs(start)[0][-1] == str(start.ROOT / "requirements-test.txt")


@pytest.mark.parametrize(("debian", "root"), [(True, True), (True, False), (False, True)])
def test_a_browser_is_installed_where_there_is_none(
    start, monkeypatch: pytest.MonkeyPatch, debian: bool, root: bool
) -> None:
    """By Debian for its root, by Playwright for everyone else."""
    monkeypatch.setattr(start, "_is_debian", lambda: debian)
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000, raising=False)
    installed = lambda name: any("chromium" in words for words in start.ran) and name == "chromium"  # noqa: E731
    monkeypatch.setattr(start.shutil, "which", lambda name: "/usr/bin/chromium" if debian and installed(name) else None)
    found = start.find_browser()
    if debian and root:
        assert found == "/usr/bin/chromium" and start.ran[-1][:2] == ["apt-get", "install"]
    else:
        assert found == "/played/chromium" and start.ran[-2][1:] == ["-m", "playwright", "install", "chromium"]
        assert not any("apt-get" in words for words in start.ran)


def test_a_browser_that_is_named_comes_first(start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "/opt/mine")
    monkeypatch.setattr(start.shutil, "which", lambda name: name if name in ("/opt/mine", "chromium") else None)
    assert start.find_browser() == "/opt/mine"


@pytest.mark.parametrize(("words", "status"), [(["--help"], 0), (["fly"], 2), (["--torch-index"], 2)])
def test_help_and_mistakes_install_nothing(start, capsys: pytest.CaptureFixture, words: list[str], status: int) -> None:
    assert start.main(words) == status
    out, err = capsys.readouterr()
    assert "python tools/start.py test" in (err if status else out) and start.ran == []


def test_an_old_python_is_told_its_age(start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(start.sys, "version_info", (3, 10, 1))
    assert start.main([]) == 1 and start.ran == []
    assert "specdemo needs 3.11 or newer" in capsys.readouterr().err


def test_an_old_python_gets_as_far_as_that() -> None:
    """It can read the file: no newer syntax, and annotations are not evaluated."""
    tree = ast.parse((ROOT / "tools" / "start.py").read_text("utf-8"), feature_version=(3, 7))
    assert any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)


def read(name: str) -> dict[str, Requirement]:
    lines = (ROOT / name).read_text().splitlines()
    found = [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]
    return {canonicalize_name(requirement.name): requirement for requirement in found}


PINS = {name: next(iter(pin.specifier)) for name, pin in read("tools/constraints.txt").items()}
WANTED = read("requirements.txt") | read("requirements-test.txt")


def test_what_is_pinned_is_allowed() -> None:
    """Each pin is one version, without the name of a build, so that a build for any device fits."""
    assert all(pin.operator == "==" and "+" not in pin.version and "*" not in pin.version for pin in PINS.values())
    for name, requirement in WANTED.items():
        assert requirement.specifier.contains(PINS[name].version), name


def test_all_that_is_needed_is_pinned() -> None:
    """What the requirements ask for, what that asks for, and so on, as it is on this machine.

    A torch with CUDA pins the parts of it by itself.
    """
    seen: set[tuple[str, str]] = set()
    asked = [pair for requirement in WANTED.values() for pair in needs(requirement, "")]
    while asked:
        name, extra = asked.pop()
        if (name, extra) in seen or name.startswith(("nvidia-", "cuda-", "triton")):
            continue
        seen.add((name, extra))
        assert name in PINS, name
        asked += [pair for line in needed_by(name) for pair in needs(Requirement(line), extra)]


def needs(requirement: Requirement, extra: str) -> list[tuple[str, str]]:
    """The package that one with `extra` needs here, and which extras of it."""
    if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
        return []
    return [(canonicalize_name(requirement.name), asked) for asked in ("", *requirement.extras)]


def needed_by(name: str) -> list[str]:
    """Nothing, where it is not installed."""
    try:
        return distribution(name).requires or []
    except PackageNotFoundError:
        return []


def test_pins_are_made_of_what_pip_would_install() -> None:
    from tools.pins import pins

    names = {"B": "1.0", "a": "2.13.0+cpu"}
    report = {"install": [{"metadata": {"name": name, "version": version}} for name, version in names.items()]}
    assert pins(report) == ["a==2.13.0", "b==1.0"]


def test_the_versions_here_are_allowed() -> None:
    """The code runs with what the requirements ask for: the environment of these tests is one of those."""
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            assert requirement.specifier.contains(version(requirement.name), prereleases=True), line


def test_ci_runs_the_same_command() -> None:
    text = (ROOT / ".ci" / "run").read_text()
    assert "tools/start.py test" in text and "CI=true" in text and "set -euo pipefail" in text
