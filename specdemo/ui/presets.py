"""The examples that a click puts into the prompt."""

from typing import NamedTuple


class Preset(NamedTuple):
    """Key of the label on the chip, prompt, and whether it is a turn of a chat or a text to be continued."""

    label: str
    prompt: str
    chat: bool = True


PRESETS: tuple[Preset, ...] = (
    Preset("preset_explain", "Explain why the sky is blue."),
    Preset("preset_story", "Tell a short story about a lighthouse keeper who finds a letter in a bottle."),
    Preset("preset_code", "Write a Python function that returns the first n prime numbers."),
    Preset("preset_list", "List ten things to pack for a week of hiking, one per line."),
    Preset("preset_dialogue", "Write a dialogue between a teacher and a student about what a probability is."),
    Preset("preset_chinese", "用三句话解释为什么天空是蓝色的。"),
    Preset("preset_chinese_story", "写一个关于灯塔守护人捡到漂流瓶的短故事。"),
    Preset("preset_raw", "Once upon a time, in a village at the edge of the sea, there lived", chat=False),
)
