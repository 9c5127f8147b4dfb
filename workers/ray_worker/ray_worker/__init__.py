"""MOSAIC Lab's worker for RLlib: runs upstream's algorithms here, with runners here or on a cluster."""
