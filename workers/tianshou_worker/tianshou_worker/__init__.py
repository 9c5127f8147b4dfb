"""MOSAIC Lab's worker for Tianshou: upstream's algorithms, collectors and trainers, in this process."""
