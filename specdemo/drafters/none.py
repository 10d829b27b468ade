"""The drafter that never drafts: with it the engine's loop is plain decoding."""

from collections.abc import Sequence

import torch

from ..contract import Coins, Proposal
from ..records import SamplingParams


class NoDrafter:
    def __init__(self, vocab_size: int, device: torch.device) -> None:
        self._nothing = Proposal.none(vocab_size, device)

    def propose(self, committed: Sequence[int], k: int, params: SamplingParams, coins: Coins) -> Proposal:
        return self._nothing
