"""Start a sweep: plan and check it, install its worker, launch its process.

A TOML or JSON file may define a sweep; reading it executes no code. ``mosaic-lab sweep --help`` shows an
example.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.training import Trainer
from mosaic_lab.sweeps.plan import plan_sweep
from mosaic_lab.sweeps.request import SweepRequest
from mosaic_lab.sweeps.sweep import Sweep, start
from mosaic_lab.validation import Problems, read_arguments


def sweep(trainer: Trainer, request: SweepRequest, progress: Callable[[str], None] = print) -> Sweep:
    """Plan and start a sweep; see `mosaic_lab.Lab.sweep`, also for errors. ``progress`` is called with a line
    for each step of an installation.
    """
    plan = plan_sweep(trainer, request, progress)
    training = replace(request.training, resume_from=plan.training.request.resume_from)  # as a path
    return start(trainer.supervisor, plan, replace(request, training=training))


def sweep_file(supervisor: Supervisor, path: Path | str) -> Sweep:
    """Start the sweep defined by a file. Raises the errors of `mosaic_lab.Lab.sweep`."""
    return sweep(Trainer(supervisor), read_sweep(path))


def read_sweep(path: Path | str) -> SweepRequest:
    """Return the request in a file.

    Raises ConfigurationError for an invalid file, with all problems of its search.
    """
    path = Path(path)
    return SweepRequest.of_json(read_arguments(path, "sweep"), Problems(path.name))
