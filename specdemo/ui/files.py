"""What the browser fetches besides the page: our style and scripts, and the plotly.js of the installed plotly."""

import gzip
import html
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from ..palette import PALETTE, THEMES, ThemeName
from ..view.plotly_js import PLOTLY_JS
from ..words import ENGLISH, WORDS

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SCRIPTS = ASSETS / "scripts"
STYLES = ASSETS / "style"

#: Scripts that a fresh page needs: a tab has a folder of its own, `shared` is everyone's.
FIRST = ("page.js", "header.js", "race/*.js", "shared/*.js")


_ASK_AGAIN = {"Cache-Control": "no-cache"}


def routes() -> list[BaseRoute]:
    """For the server, below /specdemo: found by the page relative to its own address."""
    return [
        Route("/plotly", _plotly),
        Route("/dictionary.js", _dictionary),
        Mount("/scripts", _Fresh(directory=SCRIPTS)),
    ]


class _Fresh(StaticFiles):
    """Files that a browser asks about each time, so that it never mixes old ones with new ones."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers.update(_ASK_AGAIN)
        return response


def _plotly(request: Request) -> Response:
    """Compressed once, here: gradio would do it again for each visitor, between the updates of a run."""
    headers = {"Cache-Control": "max-age=86400", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(PLOTLY_JS, media_type="text/javascript", headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(_compressed(PLOTLY_JS), media_type="text/javascript", headers=headers)


def _dictionary(request: Request) -> Response:
    """All words of all languages, as the module that the scripts import them from."""
    words = json.dumps({language: dict(texts) for language, texts in WORDS.items()}, ensure_ascii=False)
    return Response(f"export const WORDS = {words};", media_type="text/javascript", headers=_ASK_AGAIN)


@cache
def _compressed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), compresslevel=5)


def head() -> str:
    """What gradio adds to the page's head after its own styles: ours, as it is, since gradio's own `css` rewrites rules
    inside @media."""
    return f"<style>{style()}</style>"


def early_head() -> str:
    """What stands in the head from the start: the script about frames, and the names of the first tab's scripts, so
    that they are fetched while the page is still being put together."""
    first = sorted(path for pattern in FIRST for path in SCRIPTS.glob(pattern))
    scripts = [
        f'<link rel="modulepreload" href="specdemo/{name}">'
        for name in ("dictionary.js", *(f"scripts/{path.relative_to(SCRIPTS).as_posix()}" for path in first))
    ]
    return "\n".join([f"<script>{(SCRIPTS / 'frames.js').read_text('utf-8')}</script>", *scripts])


def style() -> str:
    """The whole style sheet: the palette as CSS variables, then our files."""
    return "\n".join([variables(), *(path.read_text("utf-8") for path in sorted(STYLES.glob("*.css")))])


def variables() -> str:
    """The palette's colours as CSS variables, for both themes."""
    return "\n".join(
        f"{selector} {{ {' '.join(_theme_variables(theme))} }}"
        for selector, theme in ((":root", "light"), (":root .dark, .dark", "dark"))
    )


def _theme_variables(theme: ThemeName) -> Iterable[str]:
    for name, colour in THEMES[theme]._asdict().items():
        yield f"--sd-{name}: {colour};"
    for outcome, swatch in PALETTE.items():
        tone = getattr(swatch, theme)
        yield f"--sd-{outcome}-ink: {tone.ink}; --sd-{outcome}-fill: {tone.fill};"


def template(name: str, words: Mapping[str, str] = ENGLISH) -> str:
    """An HTML file of assets with its [[keys]] filled in, as text, and marked so that the page can say it again.

    <p title="[[a]]">[[b]]</p> -> <p title="A" data-say-title="a"><span data-say-text="b">B</span></p>
    """
    text = (ASSETS / name).read_text("utf-8")
    text = re.sub(
        r'([\w-]+)="\[\[(\w+)\]\]"', lambda m: f'{m[1]}="{_word(words, m[2])}" data-say-{m[1]}="{m[2]}"', text
    )
    text = re.sub(r"\[\[(\w+)\]\]", lambda m: f'<span data-say-text="{m[1]}">{_word(words, m[1])}</span>', text)
    # The page evaluates templates as code, so nothing in them may look like it.
    assert not any(mark in text for mark in ("[[", "{{", "${", "`", "\\")), f"{name} has a word or a mark left"
    return text


def _word(words: Mapping[str, str], key: str) -> str:
    return html.escape(words[key])
