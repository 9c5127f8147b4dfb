"""MOSAIC Lab's games of consoles and grids: stable-retro and Griddly."""
