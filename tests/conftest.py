"""For every test: one thread, since two of tiny models spend their time waiting for each other. And the browser."""

import os
import shutil

import pytest
import torch

torch.set_num_threads(1)


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
