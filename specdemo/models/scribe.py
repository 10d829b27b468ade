"""Between a person's words and token ids."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from jinja2 import TemplateError

from ..words import Refusal

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_HERE = "specdemo0words0here"  # stands for a person's words in a rendered chat


class Scribe:
    """Encodes and decodes with one tokenizer; may be used from several threads at once."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        self.tokenizer = tokenizer
        self._lock = threading.Lock()  # whether control tokens are split is a setting of the tokenizer, not of a call
        self._quick = getattr(tokenizer, "backend_tokenizer", None)  # decodes in a third of the time; few have none
        self._control = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
        spellings = tokenizer.get_vocab()
        byte_ids = [spellings.get(f"<0x{byte:02X}>") for byte in range(256)]
        self._byte_ids = None if None in byte_ids else byte_ids
        self._bytes = {i: byte for byte, i in enumerate(self._byte_ids or ())}

    @property
    def has_chat(self) -> bool:
        return bool(self.tokenizer.chat_template)

    def encode(self, prompt: str, chat: bool) -> list[int]:
        """The ids of a prompt; with `chat` as the user's turn, with the assistant's turn opened.

        A person's words never become control tokens, whatever they spell. Raises Refusal where a chat is asked of a
        tokenizer without a template, or the template refuses the prompt.
        """
        if not chat:
            return self._ids(prompt, split=True, frame=True)
        return self._chat(prompt)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, with special tokens spelled out and no clean-up of spaces."""
        if self._quick is not None:
            return self._quick.decode(self._mended(ids), skip_special_tokens=False)
        known = [i for i in ids if i < len(self.tokenizer)]  # a model may be padded beyond what its tokenizer spells
        return self.tokenizer.decode(known, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    def turn_end(self) -> int | None:
        """The control token that ends a turn of the assistant's in the chat template, if there is one."""
        if not self.has_chat:
            return None
        try:
            turns = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": _HERE}]
            after = self.tokenizer.apply_chat_template(turns, tokenize=False).partition(_HERE)[2]
        except (TemplateError, ValueError, TypeError):
            return None
        first = self._ids(after)[:1]
        return first[0] if first and first[0] in self._control else None

    def _ids(self, text: str, split: bool = False, frame: bool = False) -> list[int]:
        """`split` reads control tokens in the text as plain text; `frame` adds what begins a text."""
        with self._lock:
            return self.tokenizer.encode(text, add_special_tokens=frame, split_special_tokens=split)

    def _chat(self, prompt: str) -> list[int]:
        rendered, blank = self._rendered(prompt), self._rendered(_HERE)
        ids = self._ids(rendered)
        if self._controls(ids) == self._controls(self._ids(blank)):
            return ids
        # The prompt spells control tokens: the template's own parts and the prompt are read one by one.
        before, _, after = blank.partition(_HERE)
        words = rendered[len(before) : len(rendered) - len(after)]
        if before + words + after != rendered:
            raise Refusal("chat_split")
        return self._ids(before) + self._ids(words, split=True) + self._ids(after)

    def _rendered(self, prompt: str) -> str:
        if not self.has_chat:
            raise Refusal("chat_none")
        turns = [{"role": "user", "content": prompt}]
        try:
            return self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
        except TemplateError as error:
            raise Refusal("chat_refuses", error=str(error)) from error

    def _controls(self, ids: Sequence[int]) -> list[int]:
        return [i for i in ids if i in self._control]

    def _mended(self, ids: Sequence[int]) -> list[int]:
        """Ids with every broken run of byte tokens made whole: what is no UTF-8 becomes U+FFFD where it stands.

        Tokenizers that fall back to bytes give up a whole run for one broken byte, so a later token would change
        characters that were shown long before.
        """
        if not self._bytes or not any(i in self._bytes for i in ids):
            return list(ids)
        mended: list[int] = []
        run = bytearray()
        for i in [*ids, None]:
            if i in self._bytes:
                run.append(self._bytes[i])
                continue
            mended += (self._byte_ids[byte] for byte in bytes(run).decode("utf-8", "replace").encode())
            run.clear()
            if i is not None:
                mended.append(i)
        return mended
