"""Whether the training of a run that has ended is over, or another can go on with it."""

from __future__ import annotations

import math

from mosaic_lab.keeper.states import State
from mosaic_lab.runs.run import Run
from mosaic_lab.telemetry.decoding import whole


def trained(run: Run) -> bool:
    """Whether nothing of the training of a run that has ended remains to be done: it has completed, or was
    stopped with a checkpoint after its last update, which may be before ``total_timesteps``."""
    if run.state is not State.CANCELLED:
        return run.state is State.COMPLETED
    saved = run.checkpoints
    return bool(saved) and saved[-1].step >= _last_step(run)


def _last_step(run: Run) -> float:
    """Return the step at which the training of a run that has started ends; infinite where its worker does
    not say so."""
    with run.folder.telemetry_path.open("rb") as file:
        started = whole(file.readline(), "run_started")
    steps = started["payload"]["config"].get("steps") if started is not None else None
    return steps if isinstance(steps, int) else math.inf
