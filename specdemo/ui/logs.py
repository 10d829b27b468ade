"""The server's log: a line of JSON for each run that is over, and for each fault."""

import json
import logging
from datetime import datetime, timezone
from typing import TextIO

from ..session import Ended, Session

#: Of everything that this program logs.
_ROOT = logging.getLogger("specdemo")

_log = logging.getLogger(__name__)


class JsonLines(logging.Formatter):
    """{"time": …, "level": …, "event": …} and whatever fields the record brings; a traceback in the same line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def write_to(stream: TextIO) -> None:
    """Write what this program logs there, and nowhere else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    _ROOT.handlers = [handler]
    _ROOT.setLevel(logging.INFO)
    _ROOT.propagate = False


def log_runs(session: Session, prompts: bool) -> None:
    """A line for each run that is over; with its prompt only if `prompts`."""
    session.listeners.append(lambda ended: _log.info("run", extra={"fields": line_of(ended, prompts)}))


def line_of(ended: Ended, prompts: bool) -> dict[str, object]:
    """What the line of a run says. Tokens are those of the text; `seconds` counts the waiting, too."""
    acceptance = ended.spec.acceptance
    line = {
        "run": ended.run,
        "pair": ended.pair,
        "end": ended.end,
        "reason": ended.reason,
        "tokens": ended.spec.emitted,
        "target_only_tokens": ended.plain.emitted,
        "acceptance": None if acceptance is None else round(acceptance, 4),
        "seconds": round(ended.seconds, 3),
    }
    return {**line, "prompt": ended.prompt} if prompts else line
