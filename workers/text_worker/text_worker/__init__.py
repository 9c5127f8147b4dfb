"""MOSAIC Lab's games of TextArena."""
