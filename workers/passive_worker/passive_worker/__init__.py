"""MOSAIC Lab's passive baseline, which plays no-op or still actions."""
