"""MOSAIC Lab's worker for Stable-Baselines3 and sb3-contrib: upstream's algorithms, in this process."""
