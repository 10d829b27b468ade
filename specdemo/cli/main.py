"""From the words on the command line to an exit status."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from .arguments import parser
from .faults import Fault
from .plain import plain

FAULT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command: 0 done, 1 the check failed, 2 a fault that was said on stderr, 130 interrupted."""
    _speak_utf8()
    args = parser().parse_args(argv)
    try:
        # Here and not above: torch and the page take seconds to import, and a help text should not wait for them.
        status = import_module(f".{args.command}", __package__).run(args)
        if sys.stdout is not None:  # a shell may have closed it
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        print("specdemo: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _let_go_of_stdout()
        return BROKEN_PIPE
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("specdemo"):
            raise
        return _say(f"the package {error.name!r} is not installed; try: pip install -r requirements.txt")
    except OSError as error:
        return _say(_of_a_file(error))
    except (Fault, ValueError) as error:
        return _say(str(error))


def _of_a_file(error: OSError) -> str:
    """The system's words without its numbers, after the file that they are about."""
    if not error.strerror:
        return str(error)
    if error.filename is None:
        return error.strerror
    return f"{error.filename or repr('')}: {error.strerror}"


def _say(fault: str) -> int:
    print("specdemo:", plain(" ".join(fault.split())), file=sys.stderr)
    return FAULT


def _speak_utf8() -> None:
    """A pipe gets UTF-8, whatever the locale; a terminal gets what it can show, with ? for the rest."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace", **({} if stream.isatty() else {"encoding": "utf-8"}))


def _let_go_of_stdout() -> None:
    """The reader is gone, so what is left in the buffer goes nowhere instead of into an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
