"""MOSAIC Lab's worker for policies of the user's own, from a Python file."""
