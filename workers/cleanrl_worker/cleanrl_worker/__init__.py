"""MOSAIC Lab's worker for CleanRL: runs unmodified scripts and reports their metrics and models."""
