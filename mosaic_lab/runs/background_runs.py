"""Runs that work for a training in the background, with its checkpoints: their ``parent`` is the training."""

from __future__ import annotations

from mosaic_lab.keeper.run_store import RunFolder

FILMS = "films"
"""The name of the worker of runs that film checkpoints."""
EVALUATIONS = "checkpoint-evaluation"
"""The name of the worker of runs that evaluate checkpoints."""
BACKGROUND = (FILMS, EVALUATIONS)


def background_runs(folder: RunFolder, *workers: str) -> list[RunFolder]:
    """Return the folders of the runs of these workers (default: all) that work for the run in ``folder``,
    oldest first."""
    store = folder.path.parent
    beside = [RunFolder(path) for worker in workers or BACKGROUND for path in store.glob(f"*-{worker}-*")]
    launches = [(run, run.document(run.launch_path)) for run in beside]
    of_run = [(run, launch) for run, launch in launches if launch.get("parent") == folder.run_id]
    return [run for run, _ in sorted(of_run, key=lambda pair: pair[1].get("created", 0.0))]
