"""The library without its own bars and remarks: what matters is said by `progress` and by LoadError."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partialmethod

from tqdm.auto import tqdm
from transformers.utils import logging


@contextmanager
def quiet() -> Iterator[None]:
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    drawn = tqdm.__init__
    tqdm.__init__ = partialmethod(drawn, disable=True)  # for the bar of its reader of GGUF, which heeds no switch
    try:
        yield
    finally:
        tqdm.__init__ = drawn
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
