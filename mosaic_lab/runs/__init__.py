"""The user's interface to runs: start, watch, stop and find them, and read their results."""

from mosaic_lab.runs.checkpoints import Checkpoint
from mosaic_lab.runs.group import RunGroup
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.supervisor import Supervisor

__all__ = ["Checkpoint", "Run", "RunGroup", "Supervisor"]
