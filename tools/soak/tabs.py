"""Real browser tabs."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

from specdemo.trace import load
from tools.browser import FLAGS
from tools.start import browser_here

#: Milliseconds for whatever a page is waited for.
LIMIT_MS = 120_000

#: In which a page asks for nothing.
AT_REST = ("idle", "recorded", "done", "stopped", "failed", "lost", "back")


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_here(), args=FLAGS)
        yield browser
        browser.close()


class Tab:
    """What a reader does and sees."""

    def __init__(self, browser: Browser, url: str) -> None:
        self._page: Page = browser.new_page(viewport={"width": 1366, "height": 768})
        self._page.set_default_timeout(LIMIT_MS)
        self._page.goto(url)
        self._page.wait_for_selector(".sd-inspector[data-drawn]")

    @property
    def phase(self) -> str:
        return self._page.get_attribute(".sd-say", "data-phase")

    @property
    def text(self) -> str:
        return self._page.inner_text(".sd-lane[data-lane=plain] .sd-pane")

    def wait(self, *phases: str) -> None:
        self._page.wait_for_selector(", ".join(f".sd-say[data-phase={phase}]" for phase in phases))

    def wait_text(self) -> None:
        """Until something of a run that goes on has been written."""
        self.wait("running")
        self._page.wait_for_selector(".sd-lane[data-lane=plain] .sd-tok >> nth=5")

    def run(self, prompt: str, length: int, seed: int) -> None:
        self._page.fill("#sd-prompt textarea", prompt)
        if not self._page.locator("#sd-length input").is_visible():
            self._page.click("#sd-more > button")
        for name, value in {"length": length, "seed": seed}.items():
            box = self._page.locator(f"#sd-{name} :is(input, textarea)").first
            box.fill(str(value))
            box.press("Tab")
        self._page.click("#sd-run")
        self.wait("sent", "loading", "waiting", "prompt", "running")

    def show(self, recordings: Sequence[str]) -> float:
        """Have one of these recorded runs shown, but not the one that is; seconds until its first figures stand."""
        current = self._page.get_attribute(".sd", "data-recording")
        recording = next(name for name in recordings if name != current)
        drawn = "document.querySelector('.sd-inspector').removeAttribute('data-drawn')"
        self._page.evaluate(f"{drawn}, document.querySelector('.sd-runs').open = true")
        start = time.monotonic()
        self._page.click(f"[data-run=recorded-{recording}]")
        self._page.wait_for_selector(f".sd[data-recording={recording}] .sd-inspector[data-drawn]")
        return time.monotonic() - start

    def stop(self) -> None:
        if self.phase not in AT_REST:
            self._page.click("#sd-stop")
            self.wait(*AT_REST)

    def ids(self) -> dict[str, list[int]]:
        """The tokens of both lanes of the run on the page, by the file that it saves."""
        with self._page.expect_download() as download:
            self._page.click(".sd-download")
        trace = load(download.value.path())
        lanes = {"spec": trace.rounds, "plain": trace.baseline}
        return {lane: [event.token_id for r in rounds for event in r.events] for lane, rounds in lanes.items()}
