"""MOSAIC Lab's worker for CleanRL: upstream's scripts run unmodified, their metrics and models come out."""
