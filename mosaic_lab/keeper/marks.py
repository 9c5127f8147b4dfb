"""Variables in the environment of a run's processes, each with the path of its run folder as the value."""

WORKER_MARK = "MOSAIC_RUN_DIR"
KEEPER_MARK = "MOSAIC_KEEPER_OF"
