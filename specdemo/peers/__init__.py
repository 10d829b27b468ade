"""Other engines on the same weights, each behind `writer.Write`: the library's own generation, and llama.cpp."""
