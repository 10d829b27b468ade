"""Somebody who asks by gradio's own client, through the documented endpoints."""

import time
from concurrent.futures import wait

from gradio_client import Client
from gradio_client.client import Job
from gradio_client.exceptions import AppError

#: Seconds without a word after which a run hangs. The endpoint says nothing to one who waits in line, and a class is
#: served before.
_SILENCE_S, _LOOK_S = 240.0, 0.05


class Script:
    def __init__(self, url: str) -> None:
        self._client = Client(url, verbose=False, analytics_enabled=False)

    def __enter__(self) -> "Script":
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def run(self, most: int | None, end: float, **fields: object) -> str:
        """What became of a run, as of a `client.Ending`. After so many words it is cancelled, and so is one that waits
        when the time is over."""
        job = self._client.submit(**fields, api_name="/run")
        told, heard = 0, time.monotonic()
        while not job.done():
            now, before = time.monotonic(), told
            told = len(job.outputs())
            heard = now if told > before else heard
            if now > heard + _SILENCE_S:
                return "hung"
            if told >= most if most is not None else not told and now > end:
                return _cancelled(job)
            time.sleep(_LOOK_S)
        error = job.exception()
        if error is not None:
            return "refused" if isinstance(error, AppError) else f"broken off ({type(error).__name__})"
        return job.outputs()[-1]["end"]


def _cancelled(job: Job) -> str:
    job.cancel()
    return "cancelled" if wait([job.future], _SILENCE_S).done else "hung"
