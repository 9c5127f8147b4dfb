"""MOSAIC Lab's worker for Stable-Baselines3 and sb3-contrib: runs upstream's algorithms in this process."""
