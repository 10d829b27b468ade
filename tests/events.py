"""Events made by hand from whole distributions, so that what is shown of them can be judged against all of it."""

import random
from collections.abc import Sequence

from specdemo.records import Outcome, TokenEvent, TopRow

DRAFTED = (Outcome.ACCEPTED, Outcome.REJECTED, Outcome.DISCARDED, Outcome.RESAMPLED)

#: Texts that a page or Plotly could take for something else than a text.
HOSTILE = (
    "<b>bold</b>",
    "<img src=x onerror=alert(1)>",
    "${x}",
    "%{x} &lt;b&gt; &amp;",
    "$x^2$",
    "a<br>b",
    "\u05e9\u05dc\u05d5\u05dd",
    "\u202egnp.exe",
    " ",
    "\n\n",
    "\t",
    "",
    "\ufffd",
    "\u0301",
    "x" * 500,
    "漢" * 50,
    "\x00\x1b[31m",
    "</script><script>alert(1)</script>",
    " the",
    " the",
)


def law(size: int, seed: int, sharpness: float = 3.0) -> list[float]:
    """A random distribution over `size` tokens."""
    chance = random.Random(seed)
    weights = [chance.random() ** sharpness + 1e-9 for _ in range(size)]
    return [w / sum(weights) for w in weights]


def event(
    outcome: Outcome,
    p: Sequence[float],
    q: Sequence[float] | None = None,
    token_id: int = 0,
    *,
    u: float | None = None,
    top: int = 12,
    texts: Sequence[str] = (),
) -> TokenEvent:
    """The record of a token at a place with these laws, as the engine would make it; no `q` where none drafted."""
    if outcome not in DRAFTED:
        q = None
    best = [sorted(range(len(row)), key=lambda i: -row[i])[:top] for row in (p, q) if row is not None]
    ids = {token_id, *best[0], *best[-1]}
    weight = {i: max(p[i], q[i] if q else 0.0) for i in ids}
    ids = sorted((i for i in ids if weight[i] > 0), key=lambda i: -weight[i])
    text = dict(enumerate(texts))
    return TokenEvent(
        token_id=token_id,
        outcome=outcome,
        p=p[token_id],
        q=q[token_id] if q else None,
        u=u,
        alpha=sum(map(min, p, q)) if q else None,
        top=tuple(TopRow(i, text.get(i, f" w{i}"), p[i], q[i] if q else None) for i in ids),
        rest=tuple(None if row is None else sum(x for i, x in enumerate(row) if i not in ids) for row in (p, q)),
        text=text.get(token_id, f" w{token_id}"),
    )


def sample(outcome: Outcome, seed: int = 1, size: int = 200, sharpness: float = 20.0, **kwargs) -> TokenEvent:
    """An event of this outcome at a random place, with a token and a coin that go with it."""
    p, q = law(size, 2 * seed, sharpness), law(size, 2 * seed + 1, sharpness)
    fits = {
        Outcome.REJECTED: lambda i: q[i] - p[i],
        Outcome.RESAMPLED: lambda i: p[i] - q[i],
        Outcome.ACCEPTED: lambda i: q[i],
    }
    token_id = max(range(size), key=fits.get(outcome, lambda i: p[i]))
    chance = min(1.0, p[token_id] / q[token_id])
    u = {Outcome.ACCEPTED: 0.6 * chance, Outcome.REJECTED: (1 + chance) / 2}.get(outcome)
    return event(outcome, p, q, token_id, u=u, **kwargs)
