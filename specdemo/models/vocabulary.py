"""Do two tokenizers mean the same by an id?"""

from transformers import PreTrainedTokenizerBase


def disagreement(target: PreTrainedTokenizerBase, draft: PreTrainedTokenizerBase) -> str | None:
    """The first id that the two spell differently, in words; None if they agree.

    One may know more ids than the other at its end: models pad their vocabularies to different widths, and families add
    control tokens. What only one of them knows, the other gives no probability worth the name.
    """
    ours, theirs = _spellings(target), _spellings(draft)
    shared = min(max(ours, default=-1), max(theirs, default=-1)) + 1
    if shared == 0:
        return "one of them has no vocabulary"
    for i in range(shared):
        if ours.get(i) != theirs.get(i):
            return f"id {i} is {_shown(ours.get(i))} for the target and {_shown(theirs.get(i))} for the draft"
    return None


def _spellings(tokenizer: PreTrainedTokenizerBase) -> dict[int, str]:
    return {i: token for token, i in tokenizer.get_vocab().items()}


def _shown(token: str | None) -> str:
    return "nothing" if token is None else repr(token)
