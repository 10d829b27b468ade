"""The speller: pieces that concatenate to the decoding of all ids, whatever the ids, at a cost that does not grow."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import byte_tokenizer, piece_tokenizer
from transformers import ByT5Tokenizer
from transformers.convert_slow_tokenizer import bytes_to_unicode

from specdemo.models.scribe import Scribe
from specdemo.records import Outcome, Round, TokenEvent, TopRow
from specdemo.text import Speller

BYTES = Scribe(byte_tokenizer())
PIECES = Scribe(piece_tokenizer())
SCRIBES = {"byte-level": BYTES, "pieces with byte fallback": PIECES, "written in Python": Scribe(ByT5Tokenizer())}


def round_of(*events: TokenEvent) -> Round:
    return Round(0, 4, events, 0.0, 0.0, 0.0)


def event(token_id: int, outcome: Outcome = Outcome.PLAIN, top: tuple[int, ...] = ()) -> TokenEvent:
    return TokenEvent(token_id, outcome, 0.5, top=tuple(TopRow(i, "", 0.1, None) for i in top))


def spelled(speller: Speller, *ids: int) -> list[str]:
    """The texts of plain tokens, one round each."""
    return [speller.spell(round_of(event(i))).events[0].text for i in ids]


def byte_ids(text: str | bytes) -> list[int]:
    """One id a byte, whatever merges there are."""
    raw = text.encode() if isinstance(text, str) else text
    return [byte_tokenizer().convert_tokens_to_ids(bytes_to_unicode()[byte]) for byte in raw]


def ids_for(scribe: Scribe) -> st.SearchStrategy[list[int]]:
    """Random ids, some beyond the vocabulary, and stretches that spell real characters."""
    one = st.integers(0, len(scribe.tokenizer) + 5).map(lambda i: [i])
    real = st.text(st.sampled_from("ab 你😀é\ufffd\n"), max_size=4).map(lambda text: scribe.encode(text, chat=False))
    return st.lists(st.one_of(one, real), max_size=40).map(lambda parts: [i for part in parts for i in part])


@pytest.mark.parametrize("name", SCRIBES)
@given(data=st.data())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_pieces_concatenate_to_the_whole(name, data):
    scribe = SCRIBES[name]
    prompt = scribe.encode(data.draw(st.sampled_from(["Hi", "the ", "你", " a b"])), chat=False)
    ids = data.draw(ids_for(scribe))
    speller = Speller(scribe.decode, prompt)
    text = "".join(spelled(speller, *ids)) + speller.flush()
    assert scribe.decode(prompt) + text == scribe.decode([*prompt, *ids])


@pytest.mark.parametrize("name", SCRIBES)
@given(data=st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_rounds_with_lost_tokens_concatenate_too(name, data):
    scribe, emitted = SCRIBES[name], []
    ids = data.draw(ids_for(scribe))
    lost = data.draw(ids_for(scribe))
    prompt = scribe.encode("Hi", chat=False)
    speller, text = Speller(scribe.decode, prompt), ""
    for i in range(0, len(ids), 3):
        kept, refused = ids[i : i + 3], lost[i : i + 2]
        events = [event(j, Outcome.ACCEPTED, top=tuple(refused)) for j in kept[:-1]]
        events += [event(j, Outcome.DISCARDED if n else Outcome.REJECTED) for n, j in enumerate(refused)]
        events += [event(j, Outcome.RESAMPLED) for j in kept[-1:]]
        round_ = speller.spell(round_of(*events))
        text += "".join(e.text for e in round_.emitted)
        emitted += [e.token_id for e in round_.emitted]
    assert scribe.decode(prompt) + text + speller.flush() == scribe.decode([*prompt, *emitted])


def test_a_character_of_four_bytes_goes_to_the_token_that_completes_it():
    speller = Speller(BYTES.decode, byte_ids("a"))
    assert spelled(speller, *byte_ids("x😀y")) == ["x", "", "", "", "😀", "y"]
    assert speller.flush() == ""


def test_text_before_an_unfinished_character_is_not_held_back():
    [token] = [i for i in range(3 + 256, len(BYTES.tokenizer)) if BYTES.tokenizer.convert_ids_to_tokens(i) == "ĠðŁ"]
    speller = Speller(BYTES.decode, byte_ids("a"))
    assert spelled(speller, token, *byte_ids("😀".encode()[2:])) == [" ", "", "😀"]


def test_a_broken_character_is_shown_when_the_next_token_settles_it():
    speller = Speller(BYTES.decode, byte_ids("a"))
    assert spelled(speller, *byte_ids(b"\xe4\xbd"), *byte_ids("b")) == ["", "", "\ufffdb"]
    assert spelled(speller, *byte_ids(b"\xff\xff\xff")) == ["", "\ufffd", "\ufffd"]
    assert speller.flush() == "\ufffd"
    assert speller.flush() == ""


def test_a_replacement_character_that_the_text_contains_is_text():
    speller = Speller(BYTES.decode, byte_ids("a"))
    assert "".join(spelled(speller, *byte_ids("\ufffd\ufffdb"))) == "\ufffd\ufffdb"


def test_leading_spaces_of_pieces():
    speller = Speller(PIECES.decode, PIECES.encode("the", chat=False))
    ids = PIECES.encode("the the the", chat=False)
    assert spelled(speller, *ids) == [" the"] * len(ids)


def test_ids_without_a_spelling_have_no_text():
    beyond = len(BYTES.tokenizer) + 3
    speller = Speller(BYTES.decode, byte_ids("a"))
    assert spelled(speller, beyond, *byte_ids("b"), beyond) == ["", "b", ""]
    assert "".join(spelled(speller, *[beyond] * 100, *byte_ids("c"))) == "c"


def test_ids_without_a_spelling_do_not_hide_what_came_before_them():
    first, *rest = byte_ids("😀")
    the = PIECES.encode("the", chat=False)
    for width in range(80):
        gap = [len(BYTES.tokenizer) + 3] * width
        assert "".join(spelled(Speller(BYTES.decode, byte_ids("a")), first, *gap, *rest)) == "😀"
        gap = [len(PIECES.tokenizer) + 3] * width
        assert "".join(spelled(Speller(PIECES.decode, the), *gap, *the)) == " the"


def test_special_tokens_are_spelled_out():
    speller = Speller(BYTES.decode, byte_ids("a"))
    assert spelled(speller, 2, 1) == ["<|im_end|>", "<|im_start|>"]


def test_a_prompt_that_ends_inside_a_character():
    first, *rest = byte_ids("你")
    assert spelled(Speller(BYTES.decode, [*byte_ids("a"), first]), *rest) == ["", "你"]


def test_lost_tokens_are_spelled_at_their_place():
    half, other = byte_ids("你")[:2], byte_ids("佡")  # 佡 shares its first byte with 你
    speller = Speller(BYTES.decode, byte_ids("a"))
    round_ = speller.spell(
        round_of(
            event(half[0], Outcome.ACCEPTED),
            event(other[1], Outcome.REJECTED),
            event(other[2], Outcome.DISCARDED),
            event(half[1], Outcome.RESAMPLED),
        )
    )
    assert [e.text for e in round_.events] == ["", "", "佡", ""]
    assert spelled(speller, byte_ids("你")[2]) == ["你"]


def test_what_lost_tokens_leave_unfinished_is_nowhere():
    speller = Speller(BYTES.decode, byte_ids("a"))
    lost = [event(i, o) for i, o in zip(byte_ids("x你")[:3], [Outcome.REJECTED] + [Outcome.DISCARDED] * 2)]
    round_ = speller.spell(round_of(*lost, event(byte_ids("b")[0], Outcome.RESAMPLED)))
    assert [e.text for e in round_.events] == ["x", "", "", "b"]


def test_candidates_keep_their_space_and_complete_a_character_in_place():
    the, space_the = PIECES.encode("the", chat=False)[0], PIECES.tokenizer.convert_tokens_to_ids("the")
    speller = Speller(PIECES.decode, PIECES.encode("the", chat=False))
    [shown] = speller.spell(round_of(event(the, top=(the, space_the)))).events
    assert [row.text for row in shown.top] == [" the", "the"]
    *begun, last = byte_ids("😀")
    candidates = (last, byte_ids("😁")[-1], byte_ids("b")[0])
    speller = Speller(BYTES.decode, byte_ids("a"))
    for _ in range(2):
        shown = speller.spell(round_of(*(event(i, top=candidates) for i in [*begun, last]))).events
        assert [row.text for row in shown[0].top] == ["", "", "b"]
        assert [row.text for row in shown[-1].top] == ["😀", "😁", "\ufffdb"]
        assert shown[-1].text == "😀"


@pytest.mark.parametrize("text", ["the and 你 😀 in an", "😀", "\ufffd", "\n", "a"])
def test_the_cost_of_a_token_does_not_grow(text):
    widest = 0

    def decode(ids):
        nonlocal widest
        widest = max(widest, len(ids))
        return BYTES.decode(ids)

    speller = Speller(decode, byte_ids("a"))
    spelled(speller, *(byte_ids(text) * 400)[:2000])
    assert widest <= 32


def test_random_bytes_do_not_widen_the_window_either():
    widest = 0

    def decode(ids):
        nonlocal widest
        widest = max(widest, len(ids))
        return BYTES.decode(ids)

    rng = random.Random(0)
    spelled(Speller(decode, byte_ids("a")), *(rng.randrange(len(BYTES.tokenizer)) for _ in range(3000)))
    assert widest <= 64


def test_a_decoder_that_takes_text_back_does_no_harm():
    """It breaks the contract, so the pieces cannot be right; but nothing is shown twice and nothing raises."""
    speller = Speller(lambda ids: "".join("ab"[i] for i in ids).replace("ab", ""), [1])
    assert spelled(speller, 1, 0, 1, 1, 1) == ["b", "a", "", "", "b"]
