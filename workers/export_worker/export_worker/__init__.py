"""MOSAIC Lab's exports: runs as files of TensorBoard and of Weights & Biases."""
