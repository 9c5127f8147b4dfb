"""MOSAIC Lab's worker for language models that act from text."""
