"""MOSAIC Lab's environments of Procgen and Overcooked."""
