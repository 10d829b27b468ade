"""What was to be held, and what was measured."""


class Bars:
    def __init__(self) -> None:
        self.missed = 0

    def hold(self, what: str, measured: object, held: bool) -> None:
        """Print a line; `held` says whether the bar was."""
        self.missed += not held
        print(f"{'ok    ' if held else 'MISSED'}  {what:64}{measured}", flush=True)
