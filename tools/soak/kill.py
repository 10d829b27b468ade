"""The server is killed in the middle of a run that a page shows."""

from specdemo.pace import USUAL_K
from specdemo.records import USUAL_TEMPERATURE

from .bars import Bars
from .client import Client
from .served import Served
from .tabs import Tab, chromium

_LONG = {"prompt": "Count to a hundred.", "length": 400, "seed": 3}
_SAME = {"prompt": "Explain why the sky is blue.", "length": 12, "seed": 7}
_FRESH = {"k": USUAL_K, "temperature": USUAL_TEMPERATURE}  # as a fresh page has them


def kill(runs: int, bars: Bars) -> None:
    kept, right = 0, 0
    with Served() as served, chromium() as browser:
        with Client(served.url) as client:
            fresh = client.whole(**_SAME, **_FRESH).ids
        tab = Tab(browser, served.url)
        for _ in range(runs):
            tab.run(**_LONG)
            tab.wait_text()
            served.kill()
            tab.wait("lost")
            text = tab.text
            served.start()
            tab.wait("back")
            kept += bool(text) and tab.text == text
            tab.run(**_SAME)
            tab.wait("done")
            right += tab.ids() == fresh
    bars.hold("a killed server is told of, the text kept, and the page comes back", f"{kept} of {runs}", kept == runs)
    bars.hold("a run on the same page afterwards equals a fresh one", f"{right} of {runs}", right == runs)
