"""How many tokens to draft next: K from what passes cost and from what the run has accepted so far."""

from typing import NamedTuple

from .records import Outcome, Round

#: K where nothing else is asked for: of 1 to 4 the one that paid best with the embedded pair on a CPU.
USUAL_K = 3

_ACCEPTED, _JUDGED = 5, 10  # drafts that are taken to have been seen before the first: an acceptance of one half
_FADE = 0.98  # weight of what was known before each draft that is judged: the last fifty count most
_ASK_AGAIN = 16  # rounds without a draft after which one is tried: else nothing could be learnt any more


class Costs(NamedTuple):
    """Seconds that a pair's passes take on this machine.

    passes  of the target over 1, 2, … tokens; so many as there are, less one, is the most that is drafted
    draft   of the draft over one token
    """

    passes: tuple[float, ...]
    draft: float

    def best_k(self, acceptance: float) -> int:
        """The K with the most tokens a second when each judged draft is accepted with probability `acceptance`."""
        return max(range(len(self.passes)), key=lambda k: self._tokens(k, acceptance) / self._seconds(k))

    def _tokens(self, k: int, acceptance: float) -> float:
        """Expected from one round: 1 + a + … + a^k (Leviathan et al. 2023, equation 1)."""
        return sum(acceptance**i for i in range(k + 1))

    def _seconds(self, k: int) -> float:
        return self.passes[k] + k * self.draft


#: Where nothing was measured: a pass costs the same for a few tokens as for one, a draft a tenth of it.
UNMEASURED = Costs((1.0,) * 9, 0.1)


class Pace:
    """Chooses K before each round of one run; meets `course.DraftLength`.

    It looks at rounds that are over and at costs that were measured before the run, never at the clock or at a draft
    that is still to be judged. So the law of the output is the target's own whatever it chooses, and with the same
    costs a seed repeats the run.
    """

    def __init__(self, costs: Costs) -> None:
        self._costs = costs
        self._accepted, self._judged = float(_ACCEPTED), float(_JUDGED)
        self._idle = 0  # rounds in a row that drafted nothing

    def __call__(self, last: Round | None) -> int:
        if last is not None:
            self._learn(last)
        best = self._costs.best_k(self._accepted / self._judged)
        return 1 if best == 0 and self._idle >= _ASK_AGAIN else best

    def _learn(self, last: Round) -> None:
        self._idle = 0 if last.k else self._idle + 1
        for event in last.events:
            if event.outcome in (Outcome.ACCEPTED, Outcome.REJECTED):
                self._judged = _FADE * self._judged + 1
                self._accepted = _FADE * self._accepted + (event.outcome is Outcome.ACCEPTED)
