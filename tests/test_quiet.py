"""While a model loads, the library draws nothing and says nothing; afterwards it is as it was."""

import pytest
from transformers import modeling_gguf_pytorch_utils as gguf_reader
from transformers.utils import logging

from specdemo.models.quiet import quiet


def noise() -> None:
    """What loading does: two kinds of bars, and remarks."""
    for bar in (gguf_reader.tqdm, logging.tqdm):
        for _ in bar(range(3), desc="converting"):
            pass
    logging.get_logger("transformers.test").error("a remark")


def test_quiet_and_then_as_before(capfd: pytest.CaptureFixture) -> None:
    with pytest.raises(KeyError), quiet():
        noise()
        raise KeyError
    assert capfd.readouterr() == ("", "")
    noise()
    assert capfd.readouterr().err.count("converting") >= 2
