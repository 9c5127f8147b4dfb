"""The process that makes films of a training's checkpoints, started by `mosaic_lab.runs.film_making`."""
