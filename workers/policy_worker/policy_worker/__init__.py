"""MOSAIC Lab's worker for users' own policies in Python files."""
