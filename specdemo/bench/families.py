"""What can be measured, by the words that choose it. Standard library only, for the command line's help."""

FAMILIES = {
    "target": "our lane of the target alone",
    "speculative": "our speculative lane, at each K",
    "auto": "our speculative lane with the K that it chooses itself",
    "unseen": "two of them without the candidates that the page shows: what looking costs",
    "transformers": "the library's generate",
    "assisted": "the library's assisted generation, at each K",
    "lookup": "the library's assisted generation with drafts looked up in the text",
    "llama.cpp": "llama.cpp on the GGUF file, where there is one (pip install -r requirements-bench.txt)",
    "profile": "where the time of a speculative round goes",
}
