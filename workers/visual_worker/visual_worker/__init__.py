"""MOSAIC Lab's worker for visual environments: ViZDoom, Crafter, MiniWorld, highway-env."""
