"""MOSAIC Lab's worker for language models that act on text."""
