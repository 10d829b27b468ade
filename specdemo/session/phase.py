"""What is going on with a job."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..words import Saying, everywhere

_FINAL = ("done", "stopped", "failed", "recorded")


@dataclass(frozen=True, slots=True)
class Phase:
    """What is going on; the page has a sentence for each name, with the values filled in.

    loading   fraction, sentence     the models come
    waiting   ahead, seconds         other runs come first; about how long, None where nobody knows
    prompt    tokens                 both lanes read the prompt
    running
    done      spec, plain            of a run: why each lane ended: stop, cap, context or time
              most, asked            of one that was cut: after how many seconds, how many tokens were asked for
    stopped
    failed    sentence
    recorded  file                   of one that somebody opened: the file's name
    """

    name: str
    values: Mapping[str, object] = field(default_factory=dict)

    @property
    def final(self) -> bool:
        return self.name in _FINAL

    def told(self) -> dict[str, object]:
        """As JSON; a sentence in every language."""
        values = {
            name: everywhere(value) if isinstance(value, Saying) else value for name, value in self.values.items()
        }
        return {"name": self.name, **values}


class Told(Protocol):
    """What is known of a job."""

    run_id: str
    phase: Phase
