"""MOSAIC Lab's worker for games of TextArena."""
