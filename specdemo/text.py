"""Ids to pieces of text, as they come: each token gets the part of the text that it adds."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from .records import Round, TokenEvent, TopRow

Decode = Callable[[Sequence[int]], str]

#: What a decoder writes for bytes that are no character, or not yet.
UNFINISHED = "\ufffd"

_WINDOW = 8  # ids kept as context: a character has at most four, the others settle the spaces


class Speller:
    """Fills in the texts of a run's rounds, which it must be shown in their order.

    decode      ids -> text, with special tokens spelled out and spaces left as they are. More ids may change no more
                than its last character, and that only where it is U+FFFD: so it is with every decoder of UTF-8
    prompt_ids  what the text follows

    The texts of emitted tokens, and then `flush`, concatenate to what `decode` gives for all ids, less the prompt's own
    text. A token that only begins a character has the text "", and the token that completes it carries it whole. The
    cost of a token does not grow with the text.
    """

    def __init__(self, decode: Decode, prompt_ids: Sequence[int]) -> None:
        self._tail = _Tail(decode, prompt_ids)
        self._alone: dict[int, str] = {}

    def spell(self, round_: Round) -> Round:
        """The round with the texts of its events and of their candidates filled in.

        Tokens that were not kept are spelled as they would continue the text at their place. A character that they only
        began is nowhere: nothing will complete it.
        """
        lost, events = None, []
        for event in round_.events:
            if not event.outcome.emitted and lost is None:
                lost = self._tail.fork()
            events.append(self._spelled(event, self._tail if event.outcome.emitted else lost))
        return replace(round_, events=tuple(events))

    @property
    def rest(self) -> str:
        """What an unfinished last character decodes to so far; it belongs to the last emitted token."""
        return self._tail.rest

    def flush(self) -> str:
        """The rest, at the end of the text."""
        return self._tail.finish()

    def _spelled(self, event: TokenEvent, tail: "_Tail") -> TokenEvent:
        # Only inside a character does the place matter to a candidate's text; else it is spelled once and kept.
        known = {} if tail.pending else self._alone
        for row in event.top:
            if row.token_id not in known:
                known[row.token_id] = tail.fork().add(row.token_id)
        top = tuple([TopRow(token_id, known[token_id], p, q) for token_id, _, p, q in event.top])
        return replace(event, text=tail.add(event.token_id), top=top)


def continuation(decode: Decode, before: Sequence[int], ids: Sequence[int]) -> str:
    """What `ids` add to the text of `before`, without a last character that is unfinished."""
    return _Tail(decode, before).add(*ids)


def append(round_: Round, text: str) -> Round:
    """The round with `text`, what a speller's `flush` gave, added to its last emitted token."""
    last = max(i for i, event in enumerate(round_.events) if event.outcome.emitted)
    events = list(round_.events)
    events[last] = replace(events[last], text=events[last].text + text)
    return replace(round_, events=tuple(events))


class _Tail:
    """The end of a text that grows by ids: what of it was handed out, and what may still change."""

    def __init__(self, decode: Decode, ids: Sequence[int]) -> None:
        self._decode = decode
        self._ids: list[int] = []
        self._text = ""  # of these ids,
        self._given = 0  # of which so many characters were handed out
        self._limit = 2 * _WINDOW
        self.add(*ids)

    def fork(self) -> "_Tail":
        """A tail that goes on from here on its own."""
        twin = object.__new__(_Tail)
        twin._decode, twin._ids, twin._text = self._decode, self._ids.copy(), self._text
        twin._given, twin._limit = self._given, self._limit
        return twin

    @property
    def pending(self) -> bool:
        """Whether a character has begun and is not finished."""
        return bool(self.rest)

    @property
    def rest(self) -> str:
        """What of the text was not handed out."""
        return self._text[self._given :]

    def add(self, *ids: int) -> str:
        """What the text gains by `ids`, without a last character that is unfinished."""
        self._ids += ids
        self._text = self._decode(self._ids)
        piece = self._hand_out(len(self._text) - self._text.endswith(UNFINISHED))
        self._forget()
        return piece

    def finish(self) -> str:
        """What an unfinished last character decodes to."""
        return self._hand_out(len(self._text))

    def _hand_out(self, end: int) -> str:
        piece = self._text[self._given : end]
        self._given = max(self._given, end)
        return piece

    def _forget(self) -> None:
        """Drop ids from the left, as long as the rest decodes to the end of the text.

        A character that was handed out must stay before the rest: decoders treat the beginning of a text in their own
        ways, such as taking a space off it.
        """
        if len(self._ids) <= self._limit:
            return
        for start in range(len(self._ids) - _WINDOW, 0, -1):
            rest = self._decode(self._ids[start:])
            given = self._given - (len(self._text) - len(rest))
            if given > 0 and self._text.endswith(rest):
                self._ids, self._text, self._given = self._ids[start:], rest, given
                break
        self._limit = max(2 * _WINDOW, 2 * len(self._ids))  # a search that found nothing is not made at every token
