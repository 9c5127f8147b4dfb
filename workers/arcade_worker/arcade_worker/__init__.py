"""MOSAIC Lab's worker for console and grid games: stable-retro and Griddly."""
