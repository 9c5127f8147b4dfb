"""MOSAIC Lab's worker for MuJoCo environments: Gymnasium's, Gymnasium-Robotics and dm_control."""
