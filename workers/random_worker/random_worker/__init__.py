"""MOSAIC Lab's random baseline: samples of Gymnasium's spaces."""
