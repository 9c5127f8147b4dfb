"""Kill a run's processes at random moments and check the runs of a sweep's trials."""

from __future__ import annotations

import os
import random
import signal
from contextlib import suppress
from pathlib import Path

from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.keeper.states import State
from mosaic_lab.runs import Run
from mosaic_lab.sweeps import Sweep


def killed(run: Run, generator: random.Random, seconds: float = 1.2) -> bool:
    """Send SIGKILL to the run's process, or to its keeper and so to both, within ``seconds``. Return whether
    that ended the run before it completed."""
    wait_until(lambda: run.finished or run.status.worker_pid)
    with suppress(AssertionError):
        wait_until(lambda: run.finished, timeout=generator.uniform(0.0, seconds))
    status = run.status
    pid = status.worker_pid if generator.random() < 0.7 else status.keeper_pid
    if not run.finished and pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: run.finished)
    return run.state is not State.COMPLETED


def started_once(lab: mosaic.Lab, sweep: Sweep) -> bool:
    """Return whether the store has exactly the recorded runs, each started once."""
    recorded = [run for trial in sweep.records for run in trial.run_ids]
    runs = {run.id: run for run in lab.runs if run.id != sweep.id}
    begun = [sum(one.state is State.STARTING for one in run.status.history) for run in runs.values()]
    return sorted(recorded) == sorted(runs) and begun == [1] * len(runs)


def check_segments(lab: mosaic.Lab, sweep: Sweep) -> None:
    """Assert that the store has exactly the recorded runs, each started once, from the recorded checkpoint,
    with the recorded hyperparameters, up to the recorded step."""
    runs = {run.id: run for run in lab.runs if run.id != sweep.id}
    segments = [one for trial in sweep.records for one in trial.segments]
    assert sorted(run for one in segments for run in one.runs.values()) == sorted(runs)
    for segment in segments:
        for seed, run_id in segment.runs.items():
            run = runs[run_id]
            begun = [state.state for state in run.status.history].count(State.STARTING)
            assert begun == 1, run.id
            checkpoint = run.config["checkpoint"]
            assert checkpoint["stop_at"] == segment.stop
            assert {
                name: run.config["hyperparameters"][name] for name in sweep.plan.space.parameters
            } == segment.parameters
            if segment.source is None:
                assert checkpoint["resume_from"] is None
                continue
            source = sweep.records[segment.source.trial].segment(segment.source.place)
            assert source is not None and source.saved == segment.resumed
            assert Path(checkpoint["resume_from"]) == lab.root / source.saved[seed]
            assert Path(checkpoint["resume_from"]).parent.parent.name == source.runs[seed]
