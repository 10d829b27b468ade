"""The words: every language says the same things, and each is said somewhere."""

import json
import re
from string import Formatter

import pytest

from specdemo.lab.rules import RULES
from specdemo.metrics import Ending, Slowdown
from specdemo.records import Outcome
from specdemo.session.library import RECORDINGS
from specdemo.ui.files import ASSETS, SCRIPTS
from specdemo.words import ENGLISH, FOLDER, LANGUAGES, WORDS, Refusal, Saying, Words, everywhere

PACKAGE = FOLDER.parents[1] / "specdemo"

#: The steps of the lesson, by their names.
STEPS = re.findall(r'name: "(\w+)"', (SCRIPTS / "lesson" / "steps.js").read_text("utf-8"))

#: Where a key is put together from a name: its beginning and its end.
COMPUTED = [
    *(f"phase_{name}" for name in ("idle", "recorded", "loading", "waiting", "prompt", "running", "done", "stopped")),
    *(f"phase_{name}" for name in ("failed", "lost", "back", "sent")),
    *(f"end_{why}" for why in Ending),
    *(f"why_{why}" for why in (*Slowdown, "resampled", "discarded", "bonus", "plain")),
    *(f"{outcome}{end}" for outcome in Outcome for end in ("", "_meaning")),
    *(f"pay_speedup_{source}" for source in ("run", "sweep", "set")),
    *("pay_turns", "pay_length"),
    *(f"per_second_{lane}" for lane in ("spec", "plain")),
    *("draft", "verify", "other", "judge", "look", "python", "prefill"),
    *(f"{part}_meaning" for part in ("draft", "verify", "other", "judge", "look", "python")),
    *("the_target", "the_draft"),
    *(f"lesson_{step}{end}" for step in STEPS for end in ("", "_title", "_show")),
    *(f"recording_{name}" for name in RECORDINGS),
    *("pending_meaning", "whatif_accepted", "whatif_rejected"),
    *(f"lab_{what}_{rule}" for what in ("rule", "about") for rule in RULES),
    *(f"lab_{preset}" for preset in ("example", "equal", "disjoint", "overconfident")),
    *(f"lab_{how}_{verdict}" for how in ("step", "blindly") for verdict in ("kept", "refused")),
]


def rooms(language):
    return {path.stem: json.loads(path.read_text("utf-8")) for path in (FOLDER / language).glob("*.json")}


def places(text):
    return sorted(field for _, field, _, _ in Formatter().parse(text) if field is not None)


def sources():
    """Everything that may say a word."""
    files = [*PACKAGE.rglob("*.py"), *SCRIPTS.rglob("*.js"), *ASSETS.glob("*.html")]
    return "\n".join(path.read_text("utf-8") for path in files)


def test_a_key_stands_in_one_room_alone():
    for language in LANGUAGES:
        keys = [key for texts in rooms(language).values() for key in texts]
        assert sorted(keys) == sorted(WORDS[language]), [key for key in keys if keys.count(key) > 1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_the_same_rooms_keys_and_places(language):
    english, other = rooms("en"), rooms(language)
    assert {room: list(texts) for room, texts in other.items()} == {room: list(t) for room, t in english.items()}
    assert [k for k in ENGLISH if places(ENGLISH[k]) != places(WORDS[language][k])] == []
    assert all(text.strip() for text in WORDS[language].values())


def test_a_place_is_a_bare_name():
    """The page's own script fills them in, and knows no formats."""
    for words in WORDS.values():
        for key, text in words.items():
            parsed = [(field, spec, turn) for _, field, spec, turn in Formatter().parse(text) if field is not None]
            assert all(field.isidentifier() and not spec and not turn for field, spec, turn in parsed), key


def test_the_chinese_texts_are_chinese():
    """No text was left as it is in English, but formulas, names and numbers."""
    zh = WORDS["zh"]

    def latin(text):
        return re.findall(r"[a-z]{4,}", re.sub(r"\{\w+\}|token", "", text))

    assert [key for key, text in zh.items() if text == ENGLISH[key] and latin(text)] == []
    assert [key for key, text in zh.items() if re.search(r" [，。：；]|[，。：；] |[一-鿿][,;:!?]", text)] == []


def test_every_word_is_said_somewhere():
    said = set(re.findall(r"\w+", sources())) | set(COMPUTED)
    # A line of arithmetic is asked for by one key, and has its label under another.
    lines = {f"{key}_label" for key in said}
    assert [key for key in ENGLISH if key not in said | lines] == []


def test_whatever_is_said_has_words():
    text = sources()
    pages = re.findall(r"\btemplate\(\"(.+?)\"", text)
    wanted = {
        *COMPUTED,
        *(word for page in pages for word in re.findall(r"\[\[(\w+)\]\]", (ASSETS / page).read_text("utf-8"))),
        *re.findall(r"\b(?:Saying|Refusal|LoadError|NumericalFault)\(\s*\"(\w+)\"", text),
        *re.findall(r"\b(?:words|ENGLISH)\[\"(\w+)\"\]", text),
        *re.findall(r"\bsay\(\s*\"(\w+)\"", text),
        *re.findall(r"\btell\([^,()]+, \"(\w+)\"", text),
        *re.findall(r"\bPreset\(\"(\w+)\"", text),
    }
    for key in re.findall(r"\b_line\(\s*words,\s*\"(\w+)\"", text):
        wanted |= {key, f"{key}_label"}
    assert wanted <= set(ENGLISH), wanted - set(ENGLISH)


def test_what_is_said_is_said_by_its_key():
    """A sentence in its place would be found out only when something has gone wrong already."""
    given = re.findall(r"\b(?:Saying|Refusal|LoadError|NumericalFault)\(\s*(f?\"[^\"]*\")", sources())
    assert [text for text in given if not re.fullmatch(r'"\w+"|f"\w+_\{\w+\}"', text)] == []


def test_a_saying_is_said_in_any_language_whatever_it_holds():
    inner = Saying("token", id="<b>{x}")
    outer = Saying("p_alone", meaning=inner)
    assert str(outer) == "p alone: token <b>{x}" and everywhere(outer) == {
        "en": str(outer),
        "zh": "只有 p：token <b>{x}",
    }
    assert everywhere("as it is") == {"en": "as it is", "zh": "as it is"}
    assert outer == Saying("p_alone", meaning=Saying("token", id="<b>{x}")) != inner


def test_a_refusal_is_a_value_error_in_english():
    refusal = Refusal("token", id=7)
    assert isinstance(refusal, ValueError) and str(refusal) == "token 7" == str(Refusal(Saying("token", id=7)))


def test_nothing_is_read_before_the_first_word():
    assert "_texts" not in vars(Words("zh"))
    with pytest.raises(KeyError):
        Words("zh")["no such key"]
