"""MOSAIC Lab's environments that are seen: ViZDoom, Crafter, MiniWorld, highway-env."""
