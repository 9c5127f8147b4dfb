"""MOSAIC Lab's worker for robotic warehouses, level-based foraging and PettingZoo's Atari games."""
