"""MOSAIC Lab's environments of NetHack and MiniHack."""
