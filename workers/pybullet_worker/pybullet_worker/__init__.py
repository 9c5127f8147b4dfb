"""MOSAIC Lab's worker for PyBullet robots."""
