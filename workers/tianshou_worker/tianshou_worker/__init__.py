"""MOSAIC Lab's worker for Tianshou: runs upstream's algorithms, collectors and trainers in this process."""
