"""What the browser fetches besides the page: our style and scripts, and the plotly.js of the installed plotly."""

import gzip
import html
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from ..palette import PALETTE, THEMES, ThemeName

ASSETS = Path(__file__).resolve().parents[2] / "assets"
SCRIPTS = ASSETS / "scripts"
STYLES = ASSETS / "style"

#: Scripts that a fresh page needs: a tab has a folder of its own, `shared` is everyone's.
FIRST = ("page.js", "race/*.js", "shared/*.js")

_PLOTLY = Path(find_spec("plotly").origin).parent / "package_data" / "plotly.min.js"


def routes() -> list[BaseRoute]:
    """For the server: all of it below /specdemo, found by the page relative to its own address."""
    return [Route("/specdemo/plotly", _plotly), Mount("/specdemo/scripts", _Fresh(directory=SCRIPTS))]


class _Fresh(StaticFiles):
    """Files that a browser asks about each time, so that it never mixes old ones with new ones."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _plotly(request: Request) -> Response:
    """Compressed once, here: gradio would do it again for each visitor, between the updates of a run."""
    headers = {"Cache-Control": "max-age=86400", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return FileResponse(_PLOTLY, media_type="text/javascript", headers=headers)
    headers["Content-Encoding"] = "gzip"
    return Response(_compressed(_PLOTLY), media_type="text/javascript", headers=headers)


@cache
def _compressed(path: Path) -> bytes:
    return gzip.compress(path.read_bytes(), compresslevel=5)


def head() -> str:
    """What stands in the page's head: the style, as it is, since gradio's own `css` rewrites rules inside @media; and
    the names of the first tab's scripts, so that they are fetched while the page is still being put together."""
    first = sorted(path for pattern in FIRST for path in SCRIPTS.glob(pattern))
    scripts = [
        f'<link rel="modulepreload" href="specdemo/scripts/{path.relative_to(SCRIPTS).as_posix()}">' for path in first
    ]
    return "\n".join([f"<style>{style()}</style>", *scripts])


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


def template(name: str, words: dict[str, str]) -> str:
    """An HTML file of assets with its [[words]] filled in, as text."""
    text = (ASSETS / name).read_text("utf-8")
    for key, word in words.items():
        text = text.replace(f"[[{key}]]", html.escape(word))
    # The page evaluates templates as code, so nothing in them may look like it.
    assert not any(mark in text for mark in ("[[", "{{", "${", "`", "\\")), f"{name} has a word or a mark left"
    return text
