"""MOSAIC Lab's worker for vision models that act from the environment's picture."""
