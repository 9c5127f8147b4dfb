"""MOSAIC Lab's games of OpenSpiel."""
