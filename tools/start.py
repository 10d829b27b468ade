"""From a fresh clone to the page, or to the tests, in one command. Needs Python 3.11 or newer, and nothing else.

    python tools/start.py                 set up, open the page on the embedded pair
    python tools/start.py test …          set up, pass all tests, Chromium included; more words go to pytest
    python tools/start.py run …           set up, then python -m specdemo …

It makes .venv in the clone and installs only what has changed. PyPI's torch for Linux carries gigabytes of CUDA, so
where there is no NVIDIA GPU a CPU build is taken. `--torch-index URL`, before the other words, takes torch from another
index, such as PyTorch's own for ROCm.
"""

from __future__ import annotations  # an older Python must get as far as the sentence about its age

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venv"
PYTHON = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
CONSTRAINTS = ROOT / "tools" / "constraints.txt"

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
INDEX_OPTION = "--torch-index"

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ASK_BROWSER = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"

COMMANDS = {
    "serve": ["-m", "specdemo", "serve", "--open"],
    "test": ["-m", "pytest"],
    "run": ["-m", "specdemo"],
}


def main(words: list[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what an older Python is given to run
        return _fail(f"Python {sys.version.split()[0]} is too old; specdemo needs 3.11 or newer.")
    torch_index = None
    if words[:1] == [INDEX_OPTION] and len(words) > 1:
        torch_index, words = words[1], words[2:]
    what, rest = (words[0], words[1:]) if words else ("serve", [])
    if what not in COMMANDS:
        print(__doc__, file=sys.stdout if what in ("-h", "--help") else sys.stderr)
        return 0 if what in ("-h", "--help") else 2
    try:
        set_up(ROOT / ("requirements-test.txt" if what == "test" else "requirements.txt"), torch_index)
        environment = {**os.environ, "CHROMIUM": find_browser()} if what == "test" else None
    except subprocess.CalledProcessError as error:
        return _fail(f"This step failed, see above: {' '.join(map(str, error.cmd))}")
    try:
        return subprocess.call([str(PYTHON), *COMMANDS[what], *rest], cwd=ROOT, env=environment)
    except KeyboardInterrupt:
        return 130


def set_up(requirements: Path, torch_index: str | None) -> None:
    """Make the environment and install `requirements`, unless just that was done before."""
    stamps, wanted = [HOME / f"installed-{file.stem}" for file in _within(requirements)], _fingerprint(torch_index)
    if stamps[0].exists() and stamps[0].read_text() == wanted and PYTHON.exists():
        return
    if not PYTHON.exists():
        print(f"Making {HOME} …", flush=True)
        try:
            venv.create(HOME, with_pip=True, clear=True)
        except subprocess.CalledProcessError:
            print("Python could not make an environment with pip; on Debian and Ubuntu: apt install python3-venv")
            raise
    print(f"Installing {requirements.name} (minutes, once) …", flush=True)
    _install_torch(torch_index)
    _pip("install", "-r", str(requirements))
    for stamp in stamps:
        stamp.write_text(wanted)


def _within(requirements: Path) -> list[Path]:
    """The file, and what it takes in from other ones."""
    lines = requirements.read_text(encoding="utf-8").splitlines()
    inner = [requirements.parent / line.removeprefix("-r ") for line in lines if line.startswith("-r ")]
    return [requirements, *(file for one in inner for file in _within(one))]


def _fingerprint(torch_index: str | None) -> str:
    files = (*sorted(ROOT.glob("requirements*.txt")), CONSTRAINTS)
    return hashlib.sha256(b"".join(file.read_bytes() for file in files) + str(torch_index).encode()).hexdigest()


def _install_torch(index: str | None) -> None:
    """Install torch from `index`, or a CPU build where the one that pip would choose brings CUDA for nothing."""
    if index:
        _install_torch_from(index)
    elif _wants_cpu_build() and not _pip_has_cpu_build():
        try:
            _install_torch_from(CPU_INDEX)
        except subprocess.CalledProcessError:
            print("PyTorch's index of CPU builds did not answer; taking the default build, which is large.", flush=True)


def _install_torch_from(index: str) -> None:
    """Its own version is the pinned one; such an index has few versions of what it needs, which are put right later."""
    pins = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    _pip("install", next(pin for pin in pins if pin.startswith("torch==")), "--index-url", index, pinned=False)


def _wants_cpu_build() -> bool:
    """Only PyPI's wheels for Linux carry CUDA."""
    return platform.system() == "Linux" and not shutil.which("nvidia-smi") and not Path("/proc/driver/nvidia").exists()


def _pip_has_cpu_build() -> bool:
    """Whether pip, as it is set up here, comes to a CPU build by itself, or has one installed already."""
    done = _pip("install", "--quiet", "--dry-run", "--no-deps", "--report", "-", "torch", stdout=subprocess.PIPE)
    return all(item["metadata"]["version"].endswith("+cpu") for item in json.loads(done.stdout)["install"])


def _pip(action: str, *words: str, pinned: bool = True, **how: object) -> subprocess.CompletedProcess:
    pins = ["--constraint", str(CONSTRAINTS)] if pinned else []
    command = [str(PYTHON), "-m", "pip", action, *pins, *words]
    return subprocess.run(command, cwd=ROOT, check=True, text=True, **how)


def find_browser() -> str:
    """The path of a Chromium; installed now if there is none."""
    found = browser_here()
    if found:
        return found
    print("Installing Chromium …", flush=True)
    if _is_debian() and hasattr(os, "geteuid") and os.geteuid() == 0:
        subprocess.run(["apt-get", "update", "-q"], stdout=subprocess.DEVNULL, check=True)
        subprocess.run(["apt-get", "install", "-y", "-q", "chromium"], stdout=subprocess.DEVNULL, check=True)
        found = browser_here()
    if not found:
        subprocess.run([str(PYTHON), "-m", "playwright", "install", "chromium"], check=True)
        done = subprocess.run([str(PYTHON), "-c", ASK_BROWSER], stdout=subprocess.PIPE, check=True, text=True)
        found = done.stdout.strip()
    return found


def browser_here() -> str | None:
    """The path of a Chromium that is here already."""
    names = (os.environ.get("CHROMIUM"), *BROWSERS)
    return next((path for path in (shutil.which(name) for name in names if name) if path), None)


def _is_debian() -> bool:
    """Debian itself: its relatives' chromium packages are shells around something that root cannot always run."""
    try:
        return platform.freedesktop_os_release()["ID"] == "debian"
    except OSError:
        return False


def _fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
