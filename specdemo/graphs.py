"""What a step launches on a GPU, recorded once and launched again as a whole: a CUDA graph."""

from collections.abc import Callable, Sequence

import torch

#: Does what it was made for, on the same memory each time.
Step = Callable[[], None]

#: Makes a step of one; what the second argument names is left as it was.
Capture = Callable[[Step, Sequence[torch.Tensor]], Step]

_WARM_UPS = 2  # passes before the recording, in which libraries take their workspaces


def as_it_is(step: Step, kept: Sequence[torch.Tensor]) -> Step:
    """Nothing recorded: for a device that has no graphs."""
    return step


def cuda_graph(step: Step, kept: Sequence[torch.Tensor]) -> Step:
    """`step` as a graph. It must branch on nothing that the device knows, and its tensors must outlive the graph."""
    before = [tensor.clone() for tensor in kept]
    here, aside = torch.cuda.current_stream(), torch.cuda.Stream()
    aside.wait_stream(here)
    with torch.cuda.stream(aside):
        for _ in range(_WARM_UPS):
            step()
            for tensor, value in zip(kept, before):
                tensor.copy_(value)
    here.wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    # Another thread may be loading a pair meanwhile, which must not end the recording.
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        step()
    return graph.replay
