"""The start of a sweep: it is planned and checked, its worker is installed, its process is started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.training import Trainer
from mosaic_lab.sweeps.files import read_sweep
from mosaic_lab.sweeps.plan import plan_sweep
from mosaic_lab.sweeps.request import SweepRequest
from mosaic_lab.sweeps.sweep import Sweep, start


def sweep(trainer: Trainer, request: SweepRequest, progress: Callable[[str], None] = print) -> Sweep:
    """Plan and start a sweep; see `mosaic_lab.Lab.sweep`, which says what this raises. ``progress`` is called
    with a line for each step of an installation."""
    return start(trainer.supervisor, plan_sweep(trainer, request, progress), request.training.environ)


def sweep_file(supervisor: Supervisor, path: Path | str) -> Sweep:
    """Start the sweep in a file; see `mosaic_lab.sweeps.files`. Raises what `mosaic_lab.Lab.sweep` does."""
    return sweep(Trainer(supervisor), read_sweep(path))
