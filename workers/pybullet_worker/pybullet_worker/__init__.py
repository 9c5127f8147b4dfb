"""MOSAIC Lab's robots of PyBullet."""
