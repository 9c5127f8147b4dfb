"""MOSAIC Lab's random baseline: samples from Gymnasium's spaces."""
