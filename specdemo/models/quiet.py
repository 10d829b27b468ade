"""The library without its own bars and remarks: what matters is said by `progress` and by LoadError."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tqdm.auto import tqdm
from transformers import modeling_gguf_pytorch_utils as gguf_reader
from transformers.utils import logging


@contextmanager
def quiet() -> Iterator[None]:
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(logging.CRITICAL)
    logging.disable_progress_bar()
    gguf_reader.tqdm = partial(tqdm, disable=True)  # the one bar that heeds no switch
    try:
        yield
    finally:
        gguf_reader.tqdm = tqdm
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
