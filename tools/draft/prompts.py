"""Prompts: everyday questions made from templates and word banks, and the held-out ones that no training topic touches.

A training prompt is a template of one kind with its slots filled from the banks of `banks.json`; a held-out prompt is
written out in full in `held_out.json`, with the word that must not occur in any training prompt.
"""

import json
import random
import re
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parent
SLOT = re.compile(r"\{(\w+)\}")

# How often each kind is drawn. Chinese is rare: the target writes little of it well.
SHARE = {
    "explain": 18, "story": 14, "list": 14, "code": 14, "dialogue": 12, "how-to": 8, "opinion": 4, "rewrite": 5,
    "fact": 5, "letter": 5, "sum": 4, "compare": 5, "plain": 4, "chinese": 3,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt. `chat` says whether the chat template goes around it; plain text is continued as it stands."""

    kind: str
    text: str
    chat: bool = True


def fill(template: str, banks: dict[str, list[str]], rng: random.Random) -> str:
    """Replace each `{slot}` by a word of its bank, or by a number for `{number}`; no word twice in one prompt."""
    used: set[str] = set()

    def word(match: re.Match[str]) -> str:
        slot = match[1].rstrip("0123456789")
        if slot == "number":
            return str(rng.choice((rng.randint(2, 12), rng.randint(2, 100), rng.randint(10, 999))))
        choice = rng.choice([w for w in banks[slot] if w not in used])
        used.add(choice)
        return choice

    text = SLOT.sub(word, template)
    return text[:1].upper() + text[1:]


def training_prompts(count: int, seed: int) -> list[Prompt]:
    """`count` different prompts, drawn by `SHARE`; the same seed gives the same list."""
    source = json.loads((HERE / "banks.json").read_text())
    rng = random.Random(seed)
    kinds, weights = list(SHARE), list(SHARE.values())
    found: dict[Prompt, None] = {}  # a dict keeps the order of first sight
    for _ in range(20 * count):
        kind = rng.choices(kinds, weights)[0]
        template = rng.choice(source["templates"][kind])
        found.setdefault(Prompt(kind, fill(template, source["banks"], rng), chat=kind != "plain"))
        if len(found) == count:
            return list(found)
    raise ValueError(f"count = {count}: the banks give only {len(found)} different prompts")


def held_out_prompts() -> list[Prompt]:
    """The prompts of the evaluation, a fixed list."""
    return [Prompt(row["kind"], row["text"]) for row in json.loads((HERE / "held_out.json").read_text())]


def leaks(prompts: list[Prompt]) -> list[tuple[str, str]]:
    """Pairs of (held-out topic, training prompt that holds it). Must be empty."""
    topics = [row["topic"].lower() for row in json.loads((HERE / "held_out.json").read_text())]
    return [(topic, prompt.text) for prompt in prompts for topic in topics if topic in prompt.text.lower()]


def write_prompts(prompts: list[Prompt], path: Path) -> None:
    """One JSON object a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(asdict(prompt), ensure_ascii=False) + "\n" for prompt in prompts))


def read_prompts(path: Path) -> list[Prompt]:
    return [Prompt(**json.loads(line)) for line in path.read_text().splitlines()]
