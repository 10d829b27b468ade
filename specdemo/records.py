"""The values that flow from the engine to the page: plain, frozen, standard library only.

Glossary (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318)

p        the target's distribution of the next token, after temperature and filters
q        the distribution that the draft token was really drawn from
K        tokens drafted in a round
α        Σ min(p, q): the probability that a token drawn from q is accepted
u        the coin, uniform on [0, 1): x is accepted when u·q(x) < p(x)
residual max(0, p − q) / (1 − α): where the token comes from after a rejection
bonus    the token drawn from p at position K + 1 when all K drafts were accepted
round    one draft, one verification: 1 to K + 1 tokens
"""

import math
import operator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from .words import Refusal, Saying


class Outcome(StrEnum):
    """How a token came to be, or not to be."""

    ACCEPTED = "accepted"  # drafted and kept
    REJECTED = "rejected"  # drafted, judged and refused; at most one a round
    DISCARDED = "discarded"  # drafted after the round's end, never judged
    RESAMPLED = "resampled"  # drawn from the residual in place of the rejected one
    BONUS = "bonus"  # drawn from p after every draft was accepted
    PLAIN = "plain"  # a token of the target alone

    @property
    def emitted(self) -> bool:
        """Whether a token of this outcome is part of the text."""
        return self not in (Outcome.REJECTED, Outcome.DISCARDED)


def _check(name: str, value: object, legal: bool, range_: str) -> None:
    """`range_` is the key of the words that say what is legal."""
    if not legal:
        raise Refusal("out_of_range", name=name, value=repr(value), legal=Saying(range_))


def is_whole(value: object) -> bool:
    """Whether `value` is an int or stands for one, as numpy's do (a bool is not a number here)."""
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def is_real(value: object) -> bool:
    """Whether `value` is a finite int or float."""
    return is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def as_text(value: object) -> str:
    """A str that can be encoded, whatever JSON brought; half of a surrogate pair is no character."""
    text = value if isinstance(value, str) else ""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


#: The temperature where nothing else is asked for.
USUAL_TEMPERATURE = 0.8


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How a token is drawn from logits; the same for p and q, at every row.

    temperature     0 means greedy; else logits are divided by it
    top_k           keep the k likeliest tokens; 0 keeps all
    top_p           keep the smallest set of likeliest tokens that holds this mass; 1 keeps all
    min_p           keep tokens at least this likely relative to the likeliest; 0 keeps all
    seed            of the run's own generator; None takes one from the system
    max_new_tokens  the run emits exactly this many tokens unless a stop token or the context ends it

    Raises Refusal, naming the value and the legal range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int | None = None
    max_new_tokens: int = 128

    def __post_init__(self) -> None:
        t, p, m = self.temperature, self.top_p, self.min_p
        _check("temperature", t, is_real(t) and t >= 0, "legal_temperature")
        _check("top_k", self.top_k, is_whole(self.top_k) and self.top_k >= 0, "legal_top_k")
        _check("top_p", p, is_real(p) and 0 < p <= 1, "legal_top_p")
        _check("min_p", m, is_real(m) and 0 <= m <= 1, "legal_min_p")
        legal_seed = self.seed is None or (is_whole(self.seed) and 0 <= self.seed < 2**63)
        _check("seed", self.seed, legal_seed, "legal_seed")
        n = self.max_new_tokens
        _check("max_new_tokens", n, is_whole(n) and n >= 0, "legal_count")
        for name in ("top_k", "seed", "max_new_tokens"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, operator.index(value))

    @property
    def greedy(self) -> bool:
        return self.temperature == 0


class TopRow(NamedTuple):
    """One candidate of a position: its id, its text (empty inside the engine), p and q."""

    token_id: int
    text: str
    p: float
    q: float | None


@dataclass(frozen=True, slots=True)
class TokenEvent:
    """One token of a round and everything needed to judge it again by hand.

    p, q     the target's and the draft's probability of the token here; q is None where nothing was drafted
    u        its coin; None where none was thrown
    alpha    Σ min(p, q) at this position; None where nothing was drafted
    top      the likeliest tokens of p and of q at this position, by max(p, q), largest first
    rest     mass of p and of q on all other tokens ("everything else")
    text     what the token adds to the text; empty inside the engine, filled in by `text`
    """

    token_id: int
    outcome: Outcome
    p: float
    q: float | None = None
    u: float | None = None
    alpha: float | None = None
    top: tuple[TopRow, ...] = ()
    rest: tuple[float, float | None] = (0.0, None)
    text: str = ""


class Timed:
    """What the seconds of a round, or of all rounds of a run, come to."""

    __slots__ = ()
    draft_s: float
    verify_s: float
    other_s: float
    judge_s: float
    look_s: float

    @property
    def seconds(self) -> float:
        """All of them, without the prompt."""
        return self.draft_s + self.verify_s + self.other_s

    @property
    def python_s(self) -> float:
        """What is left of `other_s`."""
        return max(0.0, self.other_s - self.judge_s - self.look_s)


@dataclass(frozen=True, slots=True)
class Round(Timed):
    """One draft and one verification; `k` tokens were drafted.

    Events stand in the order of time: the drafts from left to right, then the resampled or the bonus token.
    Seconds are the engine's own; `prefill_s`, the reading of the prompt, is 0 in all rounds but the first. `other_s`
    is what is neither draft nor verification; of it `judge_s` is p, the verdict and the last token, `look_s` the cut to
    the candidates that are shown, and the rest is Python.
    """

    index: int
    k: int
    events: tuple[TokenEvent, ...]
    draft_s: float
    verify_s: float
    other_s: float
    prefill_s: float = 0.0
    judge_s: float = 0.0
    look_s: float = 0.0

    @property
    def emitted(self) -> tuple[TokenEvent, ...]:
        """The events that are part of the text."""
        return tuple(event for event in self.events if event.outcome.emitted)


@dataclass(frozen=True, slots=True)
class RunStats(Timed):
    """The counts and times of a run; `metrics.measure` makes one. A rate without a denominator is None.

    Identities: drafted = accepted + rejected + discarded; emitted = accepted + resampled + bonus + plain;
    rounds = resampled + bonus + plain, except that a stop token inside the drafts ends the last round early.
    Seconds as in `Round`.
    """

    rounds: int
    drafted: int
    accepted: int
    rejected: int
    discarded: int
    resampled: int
    bonus: int
    plain: int
    emitted: int
    prefill_s: float
    first_token_s: float | None
    draft_s: float
    verify_s: float
    other_s: float
    judge_s: float = 0.0
    look_s: float = 0.0

    @property
    def acceptance(self) -> float | None:
        """accepted / (accepted + rejected): of the drafts that were judged, how many stayed."""
        judged = self.accepted + self.rejected
        return self.accepted / judged if judged else None

    @property
    def tokens_per_pass(self) -> float | None:
        """Tokens of text a pass of the target, the prompt's own pass not counted."""
        return self.emitted / self.rounds if self.rounds else None

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens of text a second of the rounds, the prompt not counted."""
        return self.emitted / self.seconds if self.seconds else None


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a run left another one: what stands between its prompt and its first round.

    lane, round, event  the token of the other run in whose place another one was put
    ids                 the other run's text up to there, and last the token that was put in its place
    before, given       the texts of these ids: of all but the last, and of the last
    u                   the coin that led to that token; None where the token itself was chosen
    """

    lane: str
    round: int
    event: int
    ids: tuple[int, ...]
    before: str
    given: str
    u: float | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """A whole run as data; it replays with no model and no GPU. `trace` writes and reads it as JSON.

    pair      what ran: names, device, dtype, … (strings and numbers only)
    k         tokens drafted a round; None where it was chosen before each round
    baseline  the rounds of the target alone, empty where none ran
    fork      where it left another run; None for a run from its prompt
    """

    pair: dict[str, object]
    params: SamplingParams
    k: int | None
    prompt: str
    prompt_ids: tuple[int, ...]
    rounds: tuple[Round, ...]
    baseline: tuple[Round, ...] = ()
    fork: Fork | None = None
