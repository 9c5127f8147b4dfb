"""MOSAIC Lab's worker for RLlib: upstream's algorithms in this process, its runners here or on a cluster."""
