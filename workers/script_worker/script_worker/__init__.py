"""MOSAIC Lab's worker for scripts: whatever a command line starts becomes a run."""
