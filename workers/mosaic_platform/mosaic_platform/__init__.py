"""The adapter for workers of the MOSAIC platform: see `introduction` for what it finds out about one."""
