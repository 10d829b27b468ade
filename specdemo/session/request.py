"""What a run is asked for, checked: the page may send any JSON."""

import inspect
import secrets
from dataclasses import asdict, dataclass

from ..models import CATALOGUE, PairSpec
from ..pace import USUAL_K
from ..records import USUAL_TEMPERATURE, Fork, SamplingParams, as_text
from ..words import Refusal, Saying

MAX_PROMPT = 20_000  # characters
MAX_K = 16
MAX_LENGTH = 1024
MAX_TEMPERATURE = 5

#: What stands in place of a catalogue entry's name for two models of the user's own.
OWN = "own"

#: What stands in place of a number of drafts for one that is chosen before each round.
AUTO = "auto"

#: What the page sends where the text in a number's field spells none: the browser does not tell it what was typed.
NO_NUMBER = "NaN"

_SEEDS = 2**31


@dataclass(frozen=True, slots=True)
class Request:
    """One run. `params.seed` is never None, so that what was random can be run again.

    k           None lets it be chosen before each round
    prompt_ids  of a fork, as the other run had them; None: the prompt is still to be encoded
    """

    prompt: str
    pair: PairSpec
    chat: bool
    k: int | None
    params: SamplingParams
    prompt_ids: tuple[int, ...] | None = None
    fork: Fork | None = None

    def __post_init__(self) -> None:
        if not self.prompt.strip():
            raise Refusal("prompt_empty")
        if len(self.prompt) > MAX_PROMPT:
            raise Refusal("prompt_long", characters=f"{len(self.prompt):,}", most=f"{MAX_PROMPT:,}")

    @classmethod
    def of(
        cls,
        *,
        prompt: object = "",
        pair: object = "embedded",
        target: object = "",
        draft: object = "",
        chat: object = True,
        k: object = USUAL_K,
        auto: object = False,
        temperature: object = USUAL_TEMPERATURE,
        top_k: object = 0,
        top_p: object = 1.0,
        min_p: object = 0.0,
        seed: object = None,
        length: object = 128,
    ) -> "Request":
        """From the fields of the page; with `auto`, or a `k` that is "auto", K is chosen before each round.

        Raises Refusal with one sentence: the field, its value, what is legal.
        """
        return cls(
            prompt=as_text(prompt),
            pair=_pair(pair, target, draft),
            chat=bool(chat),
            k=None if auto or k == AUTO else _whole("field_k", k, 0, MAX_K),
            params=SamplingParams(
                temperature=_number("temperature", temperature, 0, MAX_TEMPERATURE),
                top_k=_whole("field_top_k", top_k, 0, 1_000_000),
                top_p=_number("field_top_p", top_p, 0, 1, above=True),
                min_p=_number("field_min_p", min_p, 0, 1),
                seed=_seed(seed),
                max_new_tokens=_whole("field_length", length, 1, MAX_LENGTH),
            ),
        )

    def told(self) -> dict[str, object]:
        """For the page: the prompt and how its tokens are drawn; K is for whoever has one."""
        return {"prompt": self.prompt, "chat": self.chat, **asdict(self.params)}


#: The names of what `Request.of` takes.
FIELDS = tuple(inspect.signature(Request.of).parameters)


def count_of(value: object) -> int | None:
    """A whole number of at least 1; None where it is none. A browser spells a large one as 1e+21."""
    number = _parsed(value)
    if number is None or not 1 <= number < float("inf") or number != int(number):
        return None
    return int(number)


def _pair(name: object, target: object, draft: object) -> PairSpec:
    if name == OWN:
        target, draft = as_text(target).strip(), as_text(draft).strip()
        if not target or not draft:
            raise Refusal("own_incomplete")
        return PairSpec(OWN, f"{target} + {draft}", target, draft)
    if not isinstance(name, str) or name not in CATALOGUE:
        raise Refusal("pair_unknown", name=shown(name), names=", ".join(CATALOGUE))
    return CATALOGUE[name]


def _number(name: str, value: object, low: float, high: float, above: bool = False) -> float:
    """`name` is a key; with `above` the low end itself is out."""
    number = _parsed(value)
    if number is None or not low <= number <= high or (above and number == low):
        legal = Saying("legal_above" if above else "legal_number", low=low, high=high)
        raise Refusal("out_of_range", name=Saying(name), value=shown(value), legal=legal)
    return number


def _whole(name: str, value: object, low: int, high: int) -> int:
    number = _parsed(value)
    if number is None or not low <= number <= high or number != int(number):
        legal = Saying("legal_whole", low=f"{low:,}", high=f"{high:,}")
        raise Refusal("out_of_range", name=Saying(name), value=shown(value), legal=legal)
    return int(number)


def _parsed(value: object) -> float | None:
    """A number, or text that spells one; a bool is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _seed(value: object) -> int:
    if value is None or value == "":
        return secrets.randbelow(_SEEDS)
    return _whole("seed", value, 0, _SEEDS - 1)


def shown(value: object) -> Saying | str:
    """A value in a sentence that refuses it."""
    if value is None or value == "":
        return Saying("nothing_given")
    return Saying("no_number") if value == NO_NUMBER else repr(value)[:60]
