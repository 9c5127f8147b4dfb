"""MOSAIC Lab's worker for BALROG: its agents, environments and own evaluation."""
