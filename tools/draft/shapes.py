"""The shapes that were compared. Width 576 is the target's own, so its layers and its head are a start."""

from .student import Shape

WIDE = {"hidden": 576, "heads": 9, "kv_heads": 3, "intermediate": 1536}
NARROW = {"hidden": 256, "heads": 4, "kv_heads": 4, "intermediate": 768}

SHAPES = {
    "narrow": Shape(layers=4, head_size=8192, **NARROW),
    "plain": Shape(layers=3, head_size=8192, copied=(0, 1, 29), **WIDE),
    "eagle": Shape(layers=1, head_size=8192, taps=3, copied=(29,), **WIDE),
}
