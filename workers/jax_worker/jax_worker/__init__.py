"""MOSAIC Lab's environments of gymnax and Craftax."""
