"""A run on a Space counts for its visitor: the hub's page around ours lends a token, and the place of the run sees it.

The hub's page is one of ours here, under the hub's address.
"""

import pytest
from browsing import FLAGS, LIMIT_MS, NO_FIGURES, Server
from playwright.sync_api import sync_playwright
from tiny import tiny_pair

from specdemo.session import Here

#: The hub is out in the world, and a browser would ask before it lets a page from there have one from this machine.
NEAR = "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"

#: As the hub's page answers; it gives a token to whom it has around and to nobody else.
HUB = """<!doctype html><title>hub</title><iframe id="space" src="{url}" width="1300" height="700"></iframe><script>
addEventListener("message", (event) => {{
  if (event.data === "zerogpu-headers") event.ports[0].postMessage({{ "x-ip-token": "somebody" }});
}});
</script>"""


class Noting(Here):
    """This process, which notes on whose behalf it works."""

    def __init__(self, load):
        super().__init__(load)
        self.visitors = []

    def work(self, work):
        # Where `spaces` looks.
        from gradio.context import LocalContext

        self.visitors.append(LocalContext.request.get().headers.get("x-ip-token"))
        return super().work(work)


@pytest.fixture(scope="module")
def server():
    server = Server(tiny_pair())
    server.session.place = Noting(load=lambda spec, progress: server.pair)
    yield server
    server.close()


@pytest.fixture
def page(chromium):
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=[*FLAGS, NEAR])
        page = browser.new_page()
        page.set_default_timeout(LIMIT_MS)
        page.route("**/specdemo/plotly", lambda route: route.fulfill(body=NO_FIGURES, content_type="text/javascript"))
        yield page
        browser.close()


def run_in(frame):
    frame.locator("#sd-run").click()
    frame.locator(".sd-say[data-phase=done]").wait_for()


def test_a_run_within_the_hubs_page_carries_the_visitors_token(server, page):
    page.add_init_script("window.supports_zerogpu_headers = true")  # as gradio's own script finds out on a Space
    page.route("https://huggingface.co/**", lambda route: route.fulfill(body=HUB.format(url=server.url), content_type="text/html"))
    page.goto("https://huggingface.co/spaces/x/y")
    run_in(page.frame_locator("#space"))
    assert server.session.place.visitors[-1] == "somebody"


def test_a_run_on_a_page_of_its_own_asks_nobody(server, page):
    page.add_init_script("window.supports_zerogpu_headers = true")
    page.goto(server.url)
    page.wait_for_selector(".sd-say[data-phase]")
    run_in(page)
    assert server.session.place.visitors[-1] is None
