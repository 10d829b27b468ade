"""The page; the only room that imports gradio."""
