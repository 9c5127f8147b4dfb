"""MOSAIC Lab's worker for BALROG: its agents, its environments, and its own evaluation."""
