"""Continue a training that ended early: a new run resumes from its newest checkpoint."""

from __future__ import annotations

import glob

from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.states import State
from mosaic_lab.runs.checkpoint_path import continued_run, source_of
from mosaic_lab.runs.checkpoint_runs import resume_background
from mosaic_lab.runs.group import RunGroup
from mosaic_lab.runs.kinds import as_kind
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.supervisor import Supervisor
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.runs.training import Trainer, new_group_name


def continue_in_its_store(run: Run, group: str | None = None) -> Run:
    """Resume a run with a trainer for the run's store. See `Run.resume` and `continue_training`."""
    limit = run.folder.document(run.folder.launch_path).get("max_running")
    return continue_training(Trainer(Supervisor(run.path.parent, limit, run.display)), run, group)


def continue_group(runs: RunGroup) -> RunGroup:
    """Resume the trainings of a group that ended early. See `RunGroup.resume`."""
    ended_early = [run for run in runs if run.state is not State.COMPLETED]
    if not ended_early:
        raise MosaicError("all runs of this group have completed: there is nothing to resume")
    for run in ended_early:
        if (run.alive or type(as_kind(run)) is Run) and (obstacle := why_not_continued(run)):
            raise MosaicError(f"{obstacle} (no run of the group was resumed)")
    first, group = as_kind(runs[0]), runs.name
    if type(first) is Run:
        facts = (first.worker, first.config.get("algorithm"), first.config.get("env_id"))
        group = new_group_name(*map(str, filter(None, facts)))
    return RunGroup([continue_in_its_store(run, group) if run in ended_early else run for run in runs], group)


def continue_training(trainer: Trainer, run: Run, group: str | None = None) -> Run:
    """Start the training that continues ``run`` under the same name, in ``group``. See `Run.resume`. Kinds of
    runs that resume in their own folder do so."""
    if type(by_kind := as_kind(run)) is not Run:
        return by_kind.resume()
    if obstacle := why_not_continued(run):
        raise MosaicError(obstacle)
    request = TrainRequest.of_run(run)
    source: str | None = run.id
    if run.checkpoints:
        request = request.with_(resume_from=run)
    else:  # stopped before its first one: its request names the checkpoint that it resumed from itself
        source = continued_run(run)
    for other in trainer.supervisor.runs():
        if other.alive and source and source_of(other) == source:
            raise MosaicError(f"run {run.id} is continued already, by run {other.id}, which is {other.state}")
    started = trainer.start(request, group)
    assert isinstance(started, Run)  # a single run, because it has one seed
    resume_background(trainer.supervisor, run)
    if run.name != run.label:
        started.name = run.name
    if run.display is not None:
        run.display.run_continued(run)
    return started


def continuation_of(run: Run) -> str:
    """Return the id of the newest training that continues ``run`` with its worker, algorithm, environment
    and seed; empty if there is none."""
    date, code = len("20260101-000000"), len("-wxyz")
    candidates = map(Run, run.path.parent.glob(f"*{glob.escape(run.id[date:-code])}-????"))
    newest = max(
        (other for other in candidates if source_of(other) == run.id),
        key=lambda other: other.created or 0.0,
        default=None,
    )
    return "" if newest is None else newest.id


def why_not_continued(run: Run) -> str:
    """Return why no new run can continue this one, and what to do instead; empty if one can."""
    if run.alive:
        return f"run {run.id} is {run.state}: it can be resumed when it has ended"
    if type(as_kind(run)) is not Run:
        return f"run {run.id} resumes in its own folder"
    if run.parent is not None or run.total_timesteps is None:
        return (
            f"run {run.id} ({run.label}) is not a training with a number of steps; only such a run can "
            "be resumed"
        )
    if run.state is State.COMPLETED:
        return (
            f"run {run.id} has completed: lab.train(..., resume_from=run) trains from its checkpoint, as "
            f"mosaic-lab train --resume-from {run.id} does"
        )
    if not run.checkpoints and TrainRequest.of_run(run).resume_from is None:
        return (
            f"run {run.id} has no checkpoint to resume from: start it again by lab.train, "
            "with checkpoint_every= for more checkpoints"
        )
    return ""
