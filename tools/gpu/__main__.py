"""On a machine with an NVIDIA GPU, all that the others cannot do:

    python -m tools.gpu                 the CUDA tests, then the bench, whose report goes to docs/gpu.md
    python -m tools.gpu --out FILE      the report elsewhere

Exit status: 0 done, 1 a test failed and nothing was measured, 2 there is no GPU.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from .report import report
from .rounds import measured
from .shapes import PAIRS

ROOT = Path(__file__).parents[2]
TESTS = ("tests/test_gpu.py", "tests/test_captured.py", "tests/test_law.py")

DONE, FAILED, NO_GPU = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "gpu.md", help="the report (default: docs/gpu.md)")
    arguments = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("There is no NVIDIA GPU that this torch can use, so there is nothing to test or measure.", file=sys.stderr)
        return NO_GPU
    if subprocess.run([sys.executable, "-m", "pytest", "-q", *TESTS], cwd=ROOT).returncode:
        return FAILED
    device = torch.device("cuda")
    arguments.out.write_text(report([measured(pair, device) for pair in PAIRS], device), "utf-8")
    print(f"The report is in {arguments.out}.")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
