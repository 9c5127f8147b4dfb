"""The process that evaluates a training's checkpoints, started by `mosaic_lab.runs.checkpoint_runs`."""
