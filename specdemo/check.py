"""Is it lossless? The law test on a loaded pair at a real prompt.

1. Exactly: at positions of a real run, a draft of q that the real `verify` keeps or the real `last_law` replaces must
   come out as p, for every token of the vocabulary at once.
2. Sampled: thousands of real runs of the engine; their first token, first two, … first K + 1 against the exact law. The
   bonus token is the last of these, so no fewer would do.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch.nn.functional import pad

from . import maths
from .contract import Model, room
from .drafters import ModelDrafter
from .engine import speculate
from .fit import LEAST_EXPECTED, Fit, fit
from .memo import Memo
from .records import Outcome, Round, SamplingParams, is_whole

SAMPLES = 3000
POSITIONS = 32  # tokens of the run whose positions are checked exactly

#: A right engine fails a part of the sampled test with about these odds.
FALSE_ALARM = 1e-6
#: What may be off by the rounding of float64, and of the engine's own float32: a sum over 50,000 tokens and more.
EXACT, ROUNDING = 1e-9, 1e-4

_BEGINNINGS = 64  # beginnings that are told apart; all other texts share one cell

Progress = Callable[[float, str], None]


@dataclass(frozen=True, slots=True)
class Exact:
    """The exact part.

    positions  how many were checked
    error      the largest |probability of coming out − p| of any token at any of them, in float64
    rounding   the same with the rows as the engine has them, in float32
    miscast    coins that `verify` judged wrongly, of two for each token that the draft can propose: one just below
               min(1, p/q) and one just above
    """

    positions: int
    error: float
    rounding: float
    miscast: int

    @property
    def holds(self) -> bool:
        return self.error <= EXACT and self.rounding <= ROUNDING and self.miscast == 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was found.

    fits   the first token, the first two, … against the target's law
    kept   share of the sampled runs that kept their first draft
    alpha  what `kept` is on average
    """

    exact: Exact
    fits: tuple[Fit, ...]
    kept: float
    alpha: float

    @property
    def lossless(self) -> bool:
        return self.exact.holds and all(fit.p_value >= FALSE_ALARM for fit in self.fits)


def check(
    target: Model,
    draft: Model,
    prompt_ids: Sequence[int],
    params: SamplingParams,
    *,
    k: int = 2,
    samples: int = SAMPLES,
    reads_target: bool = False,
    progress: Progress = lambda fraction, sentence: None,
) -> Verdict:
    """Test the engine on a target and a draft with empty caches, after a prompt.

    params        as for a run; `seed` makes the test repeatable, `max_new_tokens` plays no part
    k             tokens drafted a round, at least 1
    samples       runs of the engine, at least 1
    reads_target  whether the draft reads what this target holds
    progress      is told a fraction from 0 to 1 and a sentence

    Raises ValueError for values out of range, for a prompt that the models cannot read and for one that leaves them no
    room, and `contract.NumericalFault` for logits that are no distribution.
    """
    _check_arguments(target, draft, prompt_ids, k, samples)
    p_rows = Memo(target, prompt_ids)
    lane = _Lane(p_rows, Memo(draft, prompt_ids, beside=p_rows if reads_target else None), params, k)
    progress(0.0, "Checking every token's probability along a run …")
    exact = _check_exactly(lane)
    texts, kept, alpha = _sample(lane, samples, progress)
    progress(1.0, "Done.")
    return Verdict(exact, tuple(_fits(texts, lane)), kept / samples, alpha)


def _check_arguments(target: Model, draft: Model, prompt_ids: Sequence[int], k: int, samples: int) -> None:
    for name, value in (("k", k), ("samples", samples)):
        if not is_whole(value) or value < 1:
            raise ValueError(f"{name} is {value!r}; it must be a whole number, at least 1")
    if not prompt_ids:
        raise ValueError("the prompt has 0 tokens; it must have at least 1")
    # The draft must read the prompt as it is, or the two would not speak of the same position.
    width = min(target.vocab_size, draft.vocab_size)
    for i in prompt_ids:
        if not 0 <= i < width:
            raise ValueError(f"prompt id {i} is not in both vocabularies, 0 to {width - 1}")
    if min(room(target, len(prompt_ids)), room(draft, len(prompt_ids))) < POSITIONS + k:
        raise ValueError(f"the prompt has {len(prompt_ids)} tokens and leaves no room for {POSITIONS + k} more")


@dataclass(frozen=True, slots=True)
class _Lane:
    """Both models with remembered rows, and how they run."""

    p: Memo
    q: Memo
    params: SamplingParams
    k: int

    def rounds(self, **changes: int) -> tuple[Round, ...]:
        """A run of the engine. No stop ids: a stop token is an outcome like any other here."""
        params = replace(self.params, **changes)
        return tuple(speculate(self.p, ModelDrafter(self.q), self.p.prompt, params, k=self.k, top=0))

    def laws(self, *rows: torch.Tensor, exact: bool = True) -> list[torch.Tensor]:
        """The distributions of rows of logits (V,), or as the engine has them, in float64 on the host: (1, V) each."""
        logits = (row[None].cpu().double() if exact else row[None] for row in rows)
        return [maths.to_probs(row, self.params).cpu().double() for row in logits]


# ---------------------------------------------------------------- 1. exactly


def _check_exactly(lane: _Lane) -> Exact:
    """Check all positions at which both models had a say in a run of the engine."""
    lane.rounds(max_new_tokens=POSITIONS)
    p_rows = {place.ids: row for place, row in lane.p.known.items()}
    rows = [(p_rows[place.ids], row) for place, row in lane.q.known.items() if place.ids in p_rows]
    laws = [maths.same_width(*lane.laws(*both)) for both in rows]
    return Exact(
        positions=len(rows),
        error=max(_identity_error(p, q) for p, q in laws),
        rounding=max(_identity_error(*maths.same_width(*lane.laws(*both, exact=False))) for both in rows),
        miscast=sum(_miscast(p, q) for p, q in laws),
    )


def _identity_error(p: torch.Tensor, q: torch.Tensor) -> float:
    """The largest |kept + replaced − p|: p, q (1, V).

    kept is q·min(1, p/q); replaced is what that leaves of 1, times the engine's law of the token after a rejection.
    """
    kept = q * _acceptance(p, q)
    replaced = (1 - kept.sum()) * maths.last_law(torch.tensor(0), torch.cat([p, p]), q)
    return (kept + replaced - p).abs().max().item()


def _miscast(p: torch.Tensor, q: torch.Tensor) -> int:
    """Coins that `verify` judges wrongly, of two a token: just below min(1, p/q), and just above: p, q (1, V)."""
    ids = q[0].nonzero().squeeze(1)
    edge = _acceptance(p, q)[0, ids]
    below, above = edge * (1 - EXACT), edge * (1 + EXACT)

    def kept(coins: torch.Tensor) -> torch.Tensor:
        return torch.vmap(lambda x, u: maths.verify(x[None], p, q, u[None]))(ids, coins) == 1

    return int(((edge > 0) & ~kept(below)).sum() + ((above < 1) & kept(above)).sum())


def _acceptance(p: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    """min(1, p/q), and 0 where the draft proposes nothing: (1, V), (1, V) -> (1, V)."""
    return torch.where(q > 0, p / q, 0).clamp(max=1)


# ---------------------------------------------------------------- 2. sampled


def _sample(lane: _Lane, samples: int, progress: Progress) -> tuple[Counter[tuple[int, ...]], int, float]:
    """The first K + 1 tokens of so many runs, how many runs kept their first draft, and its α."""
    chance = torch.Generator()
    if lane.params.seed is None:
        chance.seed()
    else:
        chance.manual_seed(lane.params.seed)
    texts: Counter[tuple[int, ...]] = Counter()
    kept = 0
    for i, seed in enumerate(torch.randint(2**62, (samples,), generator=chance).tolist()):
        if i % 50 == 0:
            progress(i / samples, f"Run {i} of {samples} …")
        rounds = lane.rounds(seed=seed, max_new_tokens=lane.k + 1)
        first = rounds[0].events[0]
        texts[tuple(event.token_id for round_ in rounds for event in round_.emitted)] += 1
        kept += first.outcome is Outcome.ACCEPTED
    return texts, kept, first.alpha


def _fits(texts: Counter[tuple[int, ...]], lane: _Lane) -> Iterator[Fit]:
    """The first token, the first two, … against the target's law, worked out along the likeliest beginnings.

    It ends before K + 1 where no beginning is common enough for the next token's law to be told from chance.
    """
    width = max(lane.p.vocab_size, lane.q.vocab_size)
    beginnings = {(): 1.0}
    while beginnings and len(next(iter(beginnings))) <= lane.k:
        rows = [mass * lane.laws(lane.p.row(lane.p.prompt + ids))[0] for ids, mass in beginnings.items()]
        law = pad(torch.cat(rows), (0, width - lane.p.vocab_size))
        yield _fit_after(list(beginnings), law, texts)
        beginnings = _likeliest(list(beginnings), law, LEAST_EXPECTED / texts.total())


def _fit_after(beginnings: list[tuple[int, ...]], law: torch.Tensor, texts: Counter[tuple[int, ...]]) -> Fit:
    """The texts against `law` (B, V): the probability of each beginning with each next token. The rest is one cell."""
    row = {ids: i for i, ids in enumerate(beginnings)}
    length = len(beginnings[0])
    counts = torch.zeros_like(law)
    others = 0
    for ids, n in texts.items():
        if ids[:length] in row:
            counts[row[ids[:length]], ids[length]] += n
        else:
            others += n
    rest = (1 - law.sum()).clamp(min=0)
    return fit(torch.cat([counts.flatten(), torch.tensor([others])]), torch.cat([law.flatten(), rest[None]]))


def _likeliest(beginnings: list[tuple[int, ...]], law: torch.Tensor, least: float) -> dict[tuple[int, ...], float]:
    """The likeliest beginnings of one token more, with their probabilities, which are at least `least`."""
    mass, at = law.flatten().topk(min(_BEGINNINGS, law.numel()))
    longer = {}
    for m, i in zip(mass.tolist(), at.tolist()):
        row, token_id = divmod(i, law.shape[1])
        if m >= least:
            longer[*beginnings[row], token_id] = m
    return longer
