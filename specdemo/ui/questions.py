"""What may be asked about with an object of JSON; the answer is JSON, too."""

from collections.abc import Callable

from ..session import Session, lab, proof
from ..session.hands import apart
from ..session.measurements import Measurements
from ..session.pay import Pay

#: Takes what was sent, whatever it is, and always has an answer.
Question = Callable[[dict[str, object]], object]


def questions(session: Session) -> dict[str, Question]:
    """By their addresses below /specdemo/ask, where a tab's own begin with its name."""

    def status(question: object) -> dict[str, object]:
        """A page asks once it is painted. Only then does the default pair load: it would hold the painting up."""
        session.preload()
        return session.status()

    computed = _of(lab, "lab_", "show", "compare", "draw_one", "draw_many", "normalise")
    checks, economics = Measurements(session, proof.plan, proof.show), Pay(session)
    return {
        "status": status,
        **_of(session, "", "resync", "stop", "inspect", "rounds", "open", "trace"),
        **{name: apart(ask) for name, ask in computed.items()},
        **_of(session, "lab_", "candidates"),
        **_of(checks, "proof_", "start", "look", "stop"),
        **_of(economics, "pay_", "answer"),
        **_of(economics.sweeps, "pay_", "start", "look", "stop"),
    }


def _of(home: object, tab: str, *names: str) -> dict[str, Question]:
    return {f"{tab}{name}": getattr(home, name) for name in names}
