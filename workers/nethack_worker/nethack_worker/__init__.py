"""MOSAIC Lab's worker for environments of NetHack and MiniHack."""
