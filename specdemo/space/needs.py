"""What a Space installs, held against what ZeroGPU lists and against the front matter."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

#: What the hub's page on ZeroGPU listed in August 2026.
ZERO_TORCH = ("2.8.0", "2.9.1", "2.10.0", "2.11.0")
ZERO_PYTHON = ("3.10.13", "3.12.12")

#: What this program needs, as transformers 5 does.
PYTHON = SpecifierSet(">=3.11")

#: Installed everywhere; before it, on Spaces alone; what the tests were last seen to pass with.
EVERYWHERE, ON_SPACES, TESTED = "requirements.txt", "pre-requirements.txt", "tools/constraints.txt"


def wanted(file: Path) -> dict[str, Requirement]:
    """The requirements of a file by the names of the packages; lines with other files' names are left out."""
    lines = (line.partition("#")[0].strip() for line in file.read_text("utf-8").splitlines())
    return {found.name: found for found in (Requirement(line) for line in lines if line and not line.startswith("-"))}


def faults(root: Path, front: Mapping[str, object]) -> Iterator[str]:
    """A sentence for each version that does not fit."""
    everywhere, on_spaces, tested = (wanted(root / name) for name in (EVERYWHERE, ON_SPACES, TESTED))
    sdk, python = str(front.get("sdk_version")), str(front.get("python_version"))
    for name, where in ((EVERYWHERE, everywhere), (TESTED, tested)):
        if not where["gradio"].specifier.contains(sdk):
            yield f"sdk_version is {sdk}; {name} asks for gradio{where['gradio'].specifier}"
    for version in ZERO_TORCH:
        if not everywhere["torch"].specifier.contains(version):
            yield f"{EVERYWHERE} asks for torch{everywhere['torch'].specifier}, and ZeroGPU lists {version}"
    pin = on_spaces["torch"].specifier
    if not any(pin == SpecifierSet(f"=={version}") for version in ZERO_TORCH):
        yield f"{ON_SPACES} asks for torch{pin}; it must be one that ZeroGPU lists: {', '.join(ZERO_TORCH)}"
    if python not in ZERO_PYTHON or not PYTHON.contains(python):
        fit = ", ".join(PYTHON.filter(ZERO_PYTHON))
        yield f"python_version is {python}; of what ZeroGPU offers, this program runs on {fit}"
