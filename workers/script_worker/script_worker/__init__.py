"""MOSAIC Lab's worker for scripts: any command line as a run."""
