"""A race of both lanes after a prompt, spelled: what is done where the pair is."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from ..lanes import plain, speculative
from ..models import Pair
from ..race import race
from ..records import Fork, Round
from ..text import Speller
from ..words import Refusal, Saying
from .fork import spelled
from .log import Lane
from .phase import Phase
from .request import Request


class Begun(NamedTuple):
    """What was found out before the first round.

    pair, notes  as `Pair.describe` and `Pair.notes` tell
    chat         whether the prompt was read as a user's turn
    stop_ids     any of them ends a text
    """

    pair: Mapping[str, object]
    notes: Sequence[Saying]
    prompt_ids: Sequence[int]
    chat: bool
    fork: Fork | None
    stop_ids: frozenset[int]


class Spelled(NamedTuple):
    """A round of a lane with its texts, and the `rest` that the text would gain, ended it here."""

    lane: Lane
    round: Round
    rest: str


def raced(request: Request, pair: Pair) -> Iterator[Phase | Begun | Spelled]:
    """Do what a run was asked for. Raises Refusal where that cannot be with this pair."""
    # 1. What stands before the first round.
    chat = request.chat and pair.has_chat
    prompt_ids = pair.encode(request.prompt, chat) if request.prompt_ids is None else list(request.prompt_ids)
    fork = request.fork
    before = [*prompt_ids, *(fork.ids if fork else ())]
    if fork and before[-1] in pair.stop_ids:
        raise Refusal("fork_ends")
    yield Phase("prompt", {"tokens": len(before)})
    # 2. First the lanes: they know which ids there are, and only such can be spelled.
    lanes = {"spec": speculative(pair, before, request.params, request.k), "plain": plain(pair, before, request.params)}
    fork = fork and spelled(fork, prompt_ids, pair.decode)
    yield Begun(pair.describe(), pair.notes, prompt_ids, chat, fork, pair.stop_ids)
    # 3. The race. No lane's clock runs while a round is spelled.
    spellers = {lane: Speller(pair.decode, before) for lane in lanes}
    with closing(race(lanes)) as rounds:
        for lane, round_ in rounds:
            told = spellers[lane].spell(round_)
            yield Spelled(lane, told, spellers[lane].rest)
