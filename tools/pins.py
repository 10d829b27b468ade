"""Writes tools/constraints.txt: a version for all that `tools/start.py` installs, what the requirements need included.

    python -m tools.pins            keep the versions that are there, add what is new, drop what nobody needs
    python -m tools.pins --fresh    take the newest that the requirements allow; then pass all tests

pip resolves as if nothing was installed, and installs nothing. Parts of a version that name a build, such as +cpu, are
left out, so that any build fits; what only other systems need has no pin.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "tools" / "constraints.txt"

HEAD = "# What `tools/start.py` installs, as the tests were last seen to pass with. By `python -m tools.pins`.\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fresh", action="store_true", help="take the newest versions")
    kept = [] if parser.parse_args().fresh else ["--constraint", str(CONSTRAINTS)]
    CONSTRAINTS.write_text(HEAD + "".join(f"{pin}\n" for pin in pins(resolved(kept))))


def resolved(options: list[str]) -> dict[str, object]:
    """pip's report of what it would install."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    command += [*options, "-r", str(ROOT / "requirements-test.txt")]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=ROOT).stdout)


def pins(report: dict[str, object]) -> list[str]:
    found = {one["metadata"]["name"].lower(): one["metadata"]["version"] for one in report["install"]}
    return [f"{name}=={version.partition('+')[0]}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    main()
