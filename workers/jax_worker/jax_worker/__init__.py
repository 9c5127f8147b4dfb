"""MOSAIC Lab's worker for environments of gymnax and Craftax."""
