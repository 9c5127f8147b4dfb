"""MOSAIC Lab's worker for CleanRL: runs upstream's scripts unmodified and reports their metrics and models."""
