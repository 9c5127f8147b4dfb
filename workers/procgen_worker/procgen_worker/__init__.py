"""MOSAIC Lab's worker for environments of Procgen and Overcooked."""
