"""Everyday prompts whose answers are longer than a run of the bench. Standard library only."""

PROMPTS = (
    "Explain why the sky is blue.",
    "Write a short story about a lighthouse keeper.",
    "List ten things to pack for a week in the mountains.",
    "Write a Python function that reverses a linked list.",
    "Write a dialogue between a doctor and a worried patient.",
)
