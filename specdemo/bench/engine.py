"""What is measured."""

from dataclasses import dataclass

from ..peers.writer import Write


@dataclass(frozen=True, slots=True)
class Engine:
    """
    family   one of `families.FAMILIES`
    title    what people call it
    numbers  what its weights are: a dtype, or a file's own
    bytes    of weights that a pass of its target streams through
    k        drafts a round; None where there are none, or the engine decides
    ours     whether a fault in it is our own
    """

    family: str
    title: str
    numbers: str
    bytes: int
    write: Write
    k: int | None = None

    @property
    def ours(self) -> bool:
        return self.family in ("target", "speculative", "auto", "unseen")

    @property
    def name(self) -> str:
        return f"{self.title}, {self.numbers}"
