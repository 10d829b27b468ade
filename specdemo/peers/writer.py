"""What engines are compared by: each writes ids after a prompt and tells them as they come."""

from collections.abc import Callable, Sequence

from ..records import SamplingParams

#: Takes the ids that a pass has brought, when they are there.
Tell = Callable[[Sequence[int]], None]

#: (prompt ids, params, stop ids, tell) -> how many tokens the engine says it wrote, by a count of its own.
Write = Callable[[Sequence[int], SamplingParams, frozenset[int], Tell], int]
