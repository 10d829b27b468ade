"""On a Hugging Face Space: work that borrows a GPU from ZeroGPU, and what can be checked before a Space is made."""
