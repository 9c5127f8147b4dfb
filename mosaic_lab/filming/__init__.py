"""The process that films a training's checkpoints, started by `mosaic_lab.runs.checkpoint_runs`."""
