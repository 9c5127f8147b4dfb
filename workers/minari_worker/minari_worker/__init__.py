"""MOSAIC Lab's datasets: recorded episodes as Minari datasets."""
