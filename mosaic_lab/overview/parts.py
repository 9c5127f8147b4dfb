"""How far a run is that is counted in parts: the episodes of an evaluation, the trials of a sweep."""

from __future__ import annotations

from mosaic_lab.evaluation import Evaluation
from mosaic_lab.overview.rows import RunRow, run_row, unreadable_row
from mosaic_lab.runs import Run
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.runs.kinds import as_kind
from mosaic_lab.sweeps import Sweep

Counted = Evaluation | Sweep


def counted(run: Run) -> Counted | None:
    """Return a run as what its parts are counted of; None where that is not in parts."""
    found = as_kind(run)
    return found if isinstance(found, Counted) else None


def row_with_parts(run: Run, step: int | None, parts: Counted | None) -> RunRow:
    """Return the row of a run, with how many of its ``parts`` are done; one that cannot be read says so."""

    def read() -> RunRow:
        done, trouble = isolated(lambda: (_done(parts), ""), lambda reason: (None, reason))
        trials, episodes = (done, None) if isinstance(parts, Sweep) else (None, done)
        steps = step if parts is None else None  # the telemetry of the others numbers the parts
        return run_row(parts or run, steps, episodes, trials, trouble)

    return isolated(read, lambda reason: unreadable_row(run.id, "training", reason))


def _done(parts: Counted | None) -> int | None:
    return None if parts is None else parts.done
