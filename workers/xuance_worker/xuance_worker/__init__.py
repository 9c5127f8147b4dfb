"""MOSAIC Lab's worker for XuanCe: runs upstream's agents, learners and buffers in this process."""
