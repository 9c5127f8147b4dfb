"""How far a run is that is counted in parts: the episodes of an evaluation, the trials of a sweep."""

from __future__ import annotations

from mosaic_lab.evaluation import Evaluation
from mosaic_lab.overview.rows import RunRow, run_row
from mosaic_lab.runs import Run
from mosaic_lab.sweeps import Sweep

Counted = Evaluation | Sweep


def counted(run: Run) -> Counted | None:
    """Return a run as what its parts are counted of; None where that is not in parts."""
    if "total_episodes" in run.config:
        return Evaluation(run.folder)
    return Sweep(run.folder) if "total_trials" in run.config else None


def row_with_parts(run: Run, step: int | None, parts: Counted | None) -> RunRow:
    """Return the row of a run, with how many of its ``parts`` are done where these can be read."""
    try:
        done = None if parts is None else parts.done
    except (OSError, KeyError, TypeError):  # its files are gone or broken
        done = None
    return run_row(run, step, **{"trials" if isinstance(parts, Sweep) else "episodes": done})
