"""MOSAIC Lab's worker for RLlib: runs upstream's algorithms in this process, with runners here or on a
cluster."""
