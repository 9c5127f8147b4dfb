"""MOSAIC Lab's grids of several agents: mosaic-multigrid and multigrid."""
