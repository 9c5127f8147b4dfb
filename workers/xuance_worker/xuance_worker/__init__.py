"""MOSAIC Lab's worker for XuanCe: upstream's agents, learners and buffers, in this process."""
