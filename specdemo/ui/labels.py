"""The texts of gradio's own components, which follow the page's language."""

import json
from collections.abc import Callable
from typing import TypeVar

from gradio.blocks import Block

from ..words import Saying, everywhere

Component = TypeVar("Component", bound=Block)

_UPDATES = """async () => {{
  const {{ updates }} = await import(new URL("specdemo/scripts/shared/labels.js", document.baseURI).href);
  return updates({texts});
}}"""


class Labels:
    """Called with a component and its texts it says them in English, and notes whose they are:

        length = said(gr.Number(128), label="length")

    A text is a key, or a list of choices (text, value) in which a text is a `Saying` or is left as it is.
    """

    def __init__(self) -> None:
        self._texts: list[tuple[Block, dict[str, object]]] = []

    def __call__(self, component: Component, **texts: str | list[tuple[Saying | str, str]]) -> Component:
        for name, text in texts.items():
            setattr(component, name, str(Saying(text)) if isinstance(text, str) else [(str(t), v) for t, v in text])
        self._texts.append((component, {n: Saying(t) if isinstance(t, str) else t for n, t in texts.items()}))
        return component

    def follow(self, *events: Callable[..., object]) -> None:
        """Say all of them in the page's language whenever one of `events` happens, in the browser and so at once."""
        texts = json.dumps([told for _, told in self._texts], default=everywhere, ensure_ascii=False)
        components = [component for component, _ in self._texts]
        for event in events:
            event(None, None, components, js=_UPDATES.format(texts=texts), api_visibility="private")
