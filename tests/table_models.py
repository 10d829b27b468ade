"""Models given by a rule instead of weights: what the engine is judged against."""

from collections.abc import Callable, Sequence

import torch

Rule = Callable[[list[int]], Sequence[float]]

#: Laws of four tokens for `historic` models of a target and a draft: each agrees with the other now and then.
P = [[0.5, 0.2, 0.2, 0.1], [0.1, 0.4, 0.1, 0.4], [0.3, 0.3, 0.2, 0.2]]
Q = [[0.4, 0.3, 0.2, 0.1], [0.2, 0.3, 0.2, 0.3], [0.1, 0.5, 0.1, 0.3]]


class TableModel:
    """`rule(ids)` gives the logits of the token after `ids`. Meets `contract.Model` and is strict about its use.

    ids     the tokens in its cache
    passes  every pass so far: (tokens in the cache before it, the ids fed)
    """

    device = torch.device("cpu")

    def __init__(
        self, rule: Rule, vocab_size: int, context: int | None = None, dtype: torch.dtype = torch.float64
    ) -> None:
        self.rule, self.vocab_size, self.context, self.dtype = rule, vocab_size, context, dtype
        self.ids: list[int] = []
        self.passes: list[tuple[int, list[int]]] = []

    @property
    def length(self) -> int:
        return len(self.ids)

    def feed(self, ids: torch.Tensor) -> torch.Tensor:
        new = ids.tolist()
        assert ids.dtype == torch.int64 and ids.dim() == 1 and new, ids
        assert all(0 <= i < self.vocab_size for i in new), (new, self.vocab_size)
        self.passes.append((self.length, new))
        rows = []
        for i in new:
            self.ids.append(i)
            rows.append(torch.as_tensor(self.rule(self.ids), dtype=self.dtype))
        assert self.context is None or self.length <= self.context, (self.length, self.context)
        return torch.stack(rows)

    def rewind(self, length: int) -> None:
        assert 0 <= length <= self.length, (length, self.length)
        del self.ids[length:]


def logits_of(probs: Sequence) -> torch.Tensor:
    """The logits of a row or a table of probabilities."""
    return torch.as_tensor(probs, dtype=torch.float64).log()


def markov(table: Sequence[Sequence[float]], **kwargs) -> TableModel:
    """Order 1: the row of the last token is the law of the next."""
    rows = logits_of(table)
    return TableModel(lambda ids: rows[ids[-1]], rows.shape[-1], **kwargs)


def constant(probs: Sequence[float], **kwargs) -> TableModel:
    """The same law after everything."""
    row = logits_of(probs)
    return TableModel(lambda ids: row, len(row), **kwargs)


def historic(table: Sequence[Sequence[float]], **kwargs) -> TableModel:
    """All tokens before choose the row: a cache that is wrong anywhere shows in the law."""
    rows = logits_of(table)

    def rule(ids: list[int]) -> torch.Tensor:
        key = 0
        for i in ids:
            key = (31 * key + i + 1) % 1_000_003
        return rows[key % len(rows)]

    return TableModel(rule, rows.shape[-1], **kwargs)


def script(tokens: Sequence[int], vocab_size: int = 16, **kwargs) -> TableModel:
    """Certain of tokens[i] at position i of the whole sequence, and of the last one ever after."""

    def rule(ids: list[int]) -> torch.Tensor:
        row = torch.full((vocab_size,), -torch.inf)
        row[tokens[min(len(ids), len(tokens) - 1)]] = 0
        return row

    return TableModel(rule, vocab_size, **kwargs)
