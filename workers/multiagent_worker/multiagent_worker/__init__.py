"""MOSAIC Lab's robotic warehouses, level-based foraging and PettingZoo's Atari games."""
