"""Do two tokenizers mean the same by an id?"""

from typing import TYPE_CHECKING

from ..words import Saying

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def disagreement(target: "PreTrainedTokenizerBase", draft: "PreTrainedTokenizerBase") -> Saying | None:
    """The first id that the two spell differently, in words; None if they agree.

    One may know more ids than the other at its end: models pad their vocabularies to different widths, and families add
    control tokens. What only one of them knows, the other gives no probability worth the name.
    """
    ours, theirs = _spellings(target), _spellings(draft)
    shared = min(max(ours, default=-1), max(theirs, default=-1)) + 1
    if shared == 0:
        return Saying("vocabulary_none")
    for i in range(shared):
        if ours.get(i) != theirs.get(i):
            return Saying("vocabulary_differs", id=i, ours=_shown(ours.get(i)), theirs=_shown(theirs.get(i)))
    return None


def _spellings(tokenizer: "PreTrainedTokenizerBase") -> dict[int, str]:
    return {i: token for token, i in tokenizer.get_vocab().items()}


def _shown(token: str | None) -> Saying | str:
    return Saying("nothing") if token is None else repr(token)
