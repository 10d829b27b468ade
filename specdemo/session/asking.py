"""Questions as a browser sends them, which may be any JSON, and answers that say what is wrong with one."""

from collections.abc import Callable, Mapping
from functools import wraps

from ..lab.setting import NoDistribution
from ..palette import ThemeName
from ..words import ENGLISH, LANGUAGES, WORDS, Refusal, Words, everywhere

Question = Mapping[str, object]
Answer = dict[str, object]


def told(method: Callable[..., Answer]) -> Callable[..., Answer]:
    """A question, the last argument, that cannot be answered is answered with a sentence in every language, and with
    the side (p, q) that is no distribution."""

    @wraps(method)
    def answer(*arguments: object) -> Answer:
        *before, question = arguments
        try:
            return method(*before, question if isinstance(question, Mapping) else {})
        except Refusal as refusal:
            side = refusal.side if isinstance(refusal, NoDistribution) else None
            return {"refused": everywhere(refusal.saying), "side": side}

    return answer


def theme_of(question: Question) -> ThemeName:
    return "dark" if question.get("theme") == "dark" else "light"


def words_of(question: Question) -> Words:
    """In the reader's language."""
    language = question.get("language")
    return WORDS[language] if language in LANGUAGES else ENGLISH
