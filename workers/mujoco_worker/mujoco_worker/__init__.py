"""MOSAIC Lab's environments of MuJoCo: Gymnasium's, Gymnasium-Robotics and dm_control."""
