"""MOSAIC Lab's worker for multi-agent grids: mosaic-multigrid and multigrid."""
