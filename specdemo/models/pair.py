"""A loaded pair: weights once, caches as many as there are runs. Knows no library, so that importing it is quick."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch

from ..contract import Model
from ..pace import UNMEASURED, Costs
from ..words import Saying
from .scribe import Scribe

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True, slots=True)
class Weights:
    """One model's weights and where they lie.

    path        the hub id or the folder that they came from
    bytes       memory that the weights take
    idle_bytes  of them, what a pass does not stream through: an input embedding of its own, of which it reads a row
    context     the most tokens that the model can hold; None where its configuration does not tell
    open        makes a model with a fresh cache over these weights; it takes a run of the target where that is read
    reads       the target's layers whose output it reads, where it is a draft that does
    four_bit    whether its layers have 4 bits a weight; `dtype` is that of all else
    token_bytes what a token adds to a cache
    shelves     where its parts lie, where that is not `device` alone
    open_fixed  makes a run with room for so many tokens in memory that stays where it is; None where that cannot be
    """

    title: str
    path: str
    parameters: int
    bytes: int
    dtype: torch.dtype
    device: torch.device
    context: int | None
    open: Callable[..., Model]
    idle_bytes: int = 0
    reads: tuple[int, ...] = ()
    four_bit: bool = False
    token_bytes: int = 0
    shelves: tuple[str, ...] = ()
    open_fixed: Callable[[int], Model] | None = None

    @property
    def streamed_bytes(self) -> int:
        """What a pass reads of them."""
        return self.bytes - self.idle_bytes

    @property
    def reads_target(self) -> bool:
        return bool(self.reads)


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and a draft that share a tokenizer.

    stop_ids  any of them ends a text
    notes     sentences for the page: which forward runs, why this dtype, …
    costs     what passes of the two take here
    record    records the steps of their rounds (`graphs.Capture`); None: nothing is recorded
    """

    name: str
    title: str
    target: Weights
    draft: Weights
    tokenizer: "PreTrainedTokenizerBase"
    stop_ids: frozenset[int]
    notes: tuple[Saying, ...] = ()
    costs: Costs = UNMEASURED
    record: Callable[..., Callable[[], None]] | None = None
    _scribe: Scribe = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_scribe", Scribe(self.tokenizer))

    @property
    def has_chat(self) -> bool:
        """Whether the tokenizer carries a chat template."""
        return self._scribe.has_chat

    def open_target(self) -> Model:
        """The target with a fresh cache; the weights are shared by all runs."""
        return self.target.open()

    def open_draft(self, target: Model) -> Model:
        """The draft with a fresh cache, to stand beside `target`, a run that `open_target` made."""
        return self.draft.open(target) if self.draft.reads_target else self.draft.open()

    def encode(self, prompt: str, chat: bool) -> list[int]:
        """The ids of a prompt; with `chat` as the user's turn, with the assistant's turn opened.

        A person's words never become control tokens, whatever they spell. Raises Refusal where a chat is asked of a
        tokenizer without a template, or the template refuses the prompt.
        """
        return self._scribe.encode(prompt, chat)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, with special tokens spelled out and no clean-up of spaces."""
        return self._scribe.decode(ids)

    def describe(self) -> dict[str, str | int | float]:
        """What ran, for a trace and for the page."""
        about: dict[str, str | int | float] = {"name": self.name, "title": self.title}
        for role, weights in (("target", self.target), ("draft", self.draft)):
            about[role] = weights.title
            about[f"{role}_path"] = weights.path
            about[f"{role}_parameters"] = weights.parameters
            about[f"{role}_bytes"] = weights.bytes
            about[f"{role}_dtype"] = "int4" if weights.four_bit else str(weights.dtype).removeprefix("torch.")
            about[f"{role}_device"] = " + ".join(weights.shelves) or str(weights.device)
        return about
