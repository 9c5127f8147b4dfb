"""MOSAIC Lab's worker for vision models that act on rendered frames."""
