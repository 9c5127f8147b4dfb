"""MOSAIC Lab's worker for games of OpenSpiel."""
