"""MOSAIC Lab's worker for Jumanji: its environments, its A2C, and SBX's PPO on them, in this process."""
