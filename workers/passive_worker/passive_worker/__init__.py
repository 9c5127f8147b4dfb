"""MOSAIC Lab's passive baseline: no-op or still."""
