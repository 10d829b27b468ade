"""Between a person's words and token ids."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def encode(tokenizer: "PreTrainedTokenizerBase", prompt: str, chat: bool) -> list[int]:
    """The ids of a prompt; with `chat` as the user's turn of the chat template, and the assistant's turn opened.

    Raises ValueError where a chat is asked of a tokenizer that has no template.
    """
    if not chat:
        return tokenizer.encode(prompt, split_special_tokens=True)
    if not tokenizer.chat_template:
        raise ValueError("this tokenizer has no chat template; the prompt can only be continued as raw text")
    turns = [{"role": "user", "content": prompt}]
    rendered = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    return tokenizer.encode(rendered, add_special_tokens=False)


def decode(tokenizer: "PreTrainedTokenizerBase", ids: Sequence[int]) -> str:
    """The text of ids, with special tokens spelled out and no clean-up of spaces."""
    return tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
