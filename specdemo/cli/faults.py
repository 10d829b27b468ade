"""What a person can mend: said in one line, without a traceback."""


class Fault(Exception):
    """The message is one clear sentence."""
