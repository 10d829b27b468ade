"""For every test: one thread, since two of tiny models spend their time waiting for each other. And the browser."""

import gc
import os
import shutil
import time

import pytest
import torch

from specdemo.session.job import Job

torch.set_num_threads(1)
pytest.register_assert_rewrite("browsing")  # so that a tab that met errors says which

_REST_S = 5.0


def pytest_sessionfinish() -> None:
    """Stop what tests left at work: a thread that is inside torch when Python ends would abort the process."""
    jobs = [thing for thing in gc.get_objects() if issubclass(type(thing), Job)]
    for job in jobs:
        job.stop()
    end = time.monotonic() + _REST_S  # what waits for a test's gate never ends, and does no harm
    while any(job.working for job in jobs) and time.monotonic() < end:
        time.sleep(0.01)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium: the one that CHROMIUM names, else any. Without one a test is skipped, but not in CI."""
    for name in (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and (path := shutil.which(name)):
            return path
    sentence = "no Chromium found; name one in CHROMIUM"
    if os.environ.get("CI"):
        pytest.fail(sentence)
    pytest.skip(sentence)
