"""From a fresh clone to the page, or to the tests, in one command; Python 3.11 or newer and nothing else is needed.

    python tools/start.py                 set up, open the page on the embedded pair
    python tools/start.py test            set up, pass all tests, Chromium included; further words go to pytest
    python tools/start.py run …           set up, then python -m specdemo …

It makes .venv in the clone and installs only when the requirements have changed. PyPI's torch for Linux carries CUDA,
some gigabytes of it; without a GPU take PyTorch's own index of CPU builds: --torch-index https://download.pytorch.org/whl/cpu
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venv"
PYTHON = HOME / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
CONSTRAINTS = ROOT / "tools" / "constraints.txt"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main() -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - this file is what an older Python is given to run
        return _fail(f"Python {sys.version.split()[0]} is too old; specdemo needs 3.11 or newer.")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-index", metavar="URL", help="package index for torch (default: pip's own)")
    parser.add_argument("what", nargs="?", default="serve", choices=("serve", "test", "run"), help="(default: serve)")
    arguments, rest = parser.parse_known_args()
    testing = arguments.what == "test"
    try:
        set_up(ROOT / ("requirements-test.txt" if testing else "requirements.txt"), arguments.torch_index)
        environment = os.environ | ({"CHROMIUM": find_browser()} if testing else {})
    except subprocess.CalledProcessError as error:
        return _fail(f"This step failed, see above: {' '.join(map(str, error.cmd))}")
    words = {"serve": ["-m", "specdemo", "serve", "--open"], "run": ["-m", "specdemo"], "test": ["-m", "pytest"]}[
        arguments.what
    ]
    return subprocess.call([PYTHON, *words, *rest], cwd=ROOT, env=environment)


def set_up(requirements: Path, torch_index: str | None) -> None:
    """Make the environment and install `requirements`, unless just that was done before."""
    stamp, wanted = HOME / f"installed-{requirements.stem}", _fingerprint()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if not PYTHON.exists():
        print(f"Making {HOME} …", flush=True)
        venv.create(HOME, with_pip=True)
    print(f"Installing {requirements.name} (minutes, once) …", flush=True)
    if torch_index:
        _pip("torch", "--index-url", torch_index)
    _pip("-r", str(requirements))
    stamp.write_text(wanted)


def _fingerprint() -> str:
    files = (*sorted(ROOT.glob("requirements*.txt")), CONSTRAINTS)
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def _pip(*words: str) -> None:
    subprocess.check_call([PYTHON, "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS, *words], cwd=ROOT)


def find_browser() -> str:
    """The path of a Chromium; installed now if there is none."""
    found = _browser()
    if found:
        return found
    print("Installing Chromium …", flush=True)
    if shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        subprocess.check_call(["apt-get", "update", "-q"], stdout=subprocess.DEVNULL)
        subprocess.check_call(["apt-get", "install", "-y", "-q", "chromium"], stdout=subprocess.DEVNULL)
        return _browser() or ""
    subprocess.check_call([PYTHON, "-m", "playwright", "install", "chromium"])
    ask = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    return subprocess.check_output([PYTHON, "-c", ask], text=True).strip()


def _browser() -> str | None:
    named = os.environ.get("CHROMIUM")
    return next((path for name in (named, *BROWSERS) if name and (path := shutil.which(name))), None)


def _fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
