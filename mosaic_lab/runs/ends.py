"""Whether the training of a run that has ended is over, or another can continue it."""

from __future__ import annotations

from mosaic_lab.keeper.states import State
from mosaic_lab.runs.run import Run


def trained(run: Run) -> bool:
    """Whether nothing of the training of a run that has ended remains to be done: it has completed, or was
    stopped with a checkpoint after its last update, which may be before ``total_timesteps``."""
    if run.state is not State.CANCELLED:
        return run.state is State.COMPLETED
    saved = run.checkpoints
    planned = run.planned_timesteps
    return bool(saved) and planned is not None and saved[-1].step >= planned
