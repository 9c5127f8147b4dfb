"""The adapter for workers of the MOSAIC platform: `introduction` describes one."""
