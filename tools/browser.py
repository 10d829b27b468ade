"""The served page in a real Chromium, for `tools.measure`."""

import time

from playwright.sync_api import sync_playwright

from tools.start import browser_here

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run")
_LIMIT_S = 120

# Clicks each n-th token of the left lane and waits until its figures stand; the milliseconds of each.
_CLICKS = """async (count) => {
  const inspector = document.querySelector(".sd-inspector"), spent = [];
  const tokens = [...document.querySelectorAll(".sd-lane[data-lane=spec] .sd-tok")];
  for (let i = 0; i < count; i++) {
    const token = tokens[Math.floor((i + 0.5) * tokens.length / count)], address = token.id.slice(3);
    const start = performance.now();
    token.click();
    while (inspector.dataset.drawn !== address) await new Promise(requestAnimationFrame);
    spent.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 150));
  }
  return spent;
}"""

# Until the page is in one of these phases. It is told and does not look: a look at each frame would have frames made,
# at the cost of the engine on the same cores.
_REACHES = """(phases) => new Promise((done) => {
  const say = document.querySelector(".sd-say");
  const told = new MutationObserver(() => look());
  const look = () => {
    if (!phases.includes(say.dataset.phase)) return;
    told.disconnect();
    done(say.dataset.phase);
  };
  told.observe(say, { attributeFilter: ["data-phase"] });
  look();
})"""


class Page:
    """The page in a Chromium of its own."""

    def __enter__(self) -> "Page":
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=browser_here(), args=FLAGS)
        self._page = self._browser.new_page(viewport={"width": 1366, "height": 768})
        self._page.set_default_timeout(1000 * _LIMIT_S)
        return self

    def open(self, url: str) -> float:
        """Go to the page; the time at which the recorded run was on screen. Returns when its figures stand, too."""
        self._page.goto(url)
        self._page.wait_for_selector(".sd-lane[data-lane=plain] .sd-tok")
        painted = time.monotonic()
        self._page.wait_for_selector(".sd-inspector[data-drawn]")
        return painted

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._playwright.stop()

    def clicks(self, count: int) -> list[float]:
        """Milliseconds from a click on a token to its figures, for `count` tokens that were not looked at before."""
        return self._page.evaluate(_CLICKS, count)

    def fill(self, **fields: object) -> None:
        """Put these settings, by the names of the page's fields, into them."""
        if not self._page.locator("#sd-length input").is_visible():
            self._page.click("#sd-more > button")
        for name, value in fields.items():
            box = self._page.locator(f"#sd-{name} :is(input, textarea)").first
            box.fill(str(value))
            box.press("Tab")

    def run(self) -> None:
        """Run to the end with what stands in the fields."""
        self._page.click("#sd-run")
        self._page.evaluate(_REACHES, ["loading", "prompt", "running"])
        ended = self._page.evaluate(_REACHES, ["done", "failed", "lost"])
        assert ended == "done", self._page.inner_text(".sd-say")
