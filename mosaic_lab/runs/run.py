"""The user's handle for a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, overload

from mosaic_lab.errors import ConfigurationError, MosaicError, RunFailed, RunTimeout
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.tail import final_message, last_lines
from mosaic_lab.runs.annotations import annotate
from mosaic_lab.runs.checkpoints import background_runs, policy_of
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.runs.stopping import end_run
from mosaic_lab.validation import checked_methods

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.kernel_policy import Policy


_POLL = 0.05  # seconds between polls while waiting
DEFAULT_GRACE = 10.0
FRAMES_ANYWHERE = "run.snapshot() and run.record() work anywhere"
_TRACEBACK_LINES = 6
_LOG_LINES = 10
_WINDOW = 1 << 18  # bytes; room for a long traceback after the lines of interest


class RunDisplay(Protocol):
    """Shows runs to the user and is notified of their end. `Lab` passes the notebook's display to its
    runs."""

    def frames(self, runs: Sequence[Run], fps: float) -> Any:
        """Return a widget with the runs' frames side by side, live."""

    def chart(self, runs: Sequence[Run], metric: str) -> None:
        """Show a metric's mean over the runs with its interval, live."""

    def waiting(self, runs: Sequence[Run]) -> Callable[[bool], None]:
        """Return a function that shows the progress of awaited runs in one line. Its argument says whether
        all have ended."""

    def progress(self, text: Callable[[], str]) -> Callable[[bool], None]:
        """Return a function that shows the current text in one line. Its argument says whether it is the
        last one."""

    def run_ended(self, run: Run) -> None:
        """Update views of ``run`` after `wait` or `stop` has seen its end, or before it is deleted."""

    def run_continued(self, run: Run) -> None:
        """Update views of ``run``, which another run now continues."""

    def run_removed(self, run: Run) -> None:
        """Update views of ``run``, which has just been deleted."""


def display_of(runs: Iterable[Run], instead: str) -> RunDisplay:
    """Return the display of these runs. Raises MosaicError if there is none, suggesting ``instead``."""
    if (display := _shared_display(runs)) is None:
        raise MosaicError(f"this works only in a notebook, for runs of a Lab; {instead}")
    return display


def _shared_display(runs: Iterable[Run]) -> RunDisplay | None:
    return next((run.display for run in runs if run.display is not None), None)


def await_end(runs: Sequence[Run], timeout: float | None) -> None:
    """Wait for all ``runs`` of a Lab to end, with a line of progress. Raises RunTimeout after ``timeout``
    seconds. An interrupt does not affect the runs, and its message says so."""
    deadline = None if timeout is None else time.monotonic() + timeout
    display = _shared_display(runs)
    show = display.waiting(runs) if display is not None else None
    try:
        for run in runs:
            while not (status := run.status).state.finished:
                if deadline is not None and time.monotonic() >= deadline:
                    raise RunTimeout(
                        f"run {run.id} is still {status.state} after {timeout:g} s: {status.reason}"
                    )
                if show is not None:
                    show(False)
                time.sleep(_POLL)
    except KeyboardInterrupt:
        if len(runs) == 1:
            which, them = f"run {runs[0].id} is {runs[0].state}", "it"
        else:
            which, them = f"{sum(run.alive for run in runs)} of {len(runs)} runs are alive", "them"
        raise KeyboardInterrupt(
            f"only the wait has ended: {which}; wait() waits again, stop() ends {them}"
        ) from None
    if show is not None:
        show(True)


@checked_methods("run")
class Run(RunRecord):
    """A run: its configuration, state and data, and methods to watch and end it. ``display`` is set by `Lab`;
    without it, everything that does not need a notebook works."""

    def __init__(self, folder: RunFolder | Path | str, display: RunDisplay | None = None) -> None:
        super().__init__(folder)
        self.display = display

    # --------------------------------------------------------- its annotations

    @property
    def name(self) -> str:
        """Your name for the run, one line of at most 200 characters. The default, restored by ``""``, is the
        run's label.

        The name, ``tags`` and ``notes`` are stored in the run's folder. Assigning to one raises
        ConfigurationError for an invalid value and MosaicError if the folder cannot be written.
        """
        return super().name

    @name.setter
    def name(self, name: str) -> None:
        annotate(self.folder, {"name": name})

    @property
    def tags(self) -> tuple[str, ...]:
        """Your tags, at most 50 of at most 50 characters each. Assign any iterable of strings."""
        return super().tags

    @tags.setter
    def tags(self, tags: Iterable[str]) -> None:
        annotate(self.folder, {"tags": tags})

    @property
    def notes(self) -> str:
        """Your notes about the run, in Markdown, at most 100,000 characters."""
        return super().notes

    @notes.setter
    def notes(self, notes: str) -> None:
        annotate(self.folder, {"notes": notes})

    # -------------------------------------------------------------- its frames

    def frames(self, fps: float = 30) -> Any:
        """Show live frames in a notebook cell, at most ``fps`` (up to 60) per second, as a `FrameWall` of one
        tile. Raises MosaicError outside a notebook; `snapshot` and `record` work anywhere."""
        return display_of([self], FRAMES_ANYWHERE).frames([self], fps)

    def enable_frames(self, on: bool = True) -> None:
        """Turn the worker's frames on or off during the run.

        ``lab.train(..., frames=False)`` starts a run with frames off. Raises MosaicError if the worker
        publishes no frames, and ConfigurationError if ``on`` is not a boolean.
        """
        from mosaic_lab.fastlane import FrameSource

        if not isinstance(on, bool):
            raise ConfigurationError(f"on={on!r}: must be True or False")
        source = FrameSource(self.path)
        try:
            source.enable(on)
        finally:
            source.close()

    @overload
    def snapshot(self, path: None = None, timeout: float = 60.0) -> bytes: ...
    @overload
    def snapshot(self, path: Path | str, timeout: float = 60.0) -> Path: ...
    def snapshot(self, path: Path | str | None = None, timeout: float = 60.0) -> bytes | Path:
        """Return the next frame as the bytes of a PNG, or write it to ``path`` (``.png``) and return the
        path.

        Waits for a run that is about to start; for an ended run, the frame is the last one seen here. Raises
        RunTimeout if no frame arrives within ``timeout`` seconds, MosaicError as soon as none can arrive (the
        run has ended unseen or is on another machine, its frames are off, or the worker cannot render), and
        ConfigurationError for another file extension.
        """
        from mosaic_lab.fastlane import pixels_of
        from mosaic_lab.fastlane.pictures import picture_path, png
        from mosaic_lab.runs.capture import next_frame

        file = None if path is None else picture_path(path)
        picture = png(pixels_of(next_frame(self.path, timeout)))
        if file is None:
            return picture
        file.write_bytes(picture)
        return file

    def record(
        self, path: Path | str, seconds: float = 5.0, fps: float = 30.0, timeout: float = 60.0
    ) -> Path:
        """Record the *next* ``seconds`` of the run, starting with the next frame, and return the film's path.

        To save the seconds that a page has just shown, use `FrameWall.record` or the menu of the frames.

        Args:
            path: a ``.gif`` or an ``.mp4`` file.
            seconds: length, up to 60; the film ends early if the run does.
            fps: maximum frames per second; fewer for large, detailed frames, because at most 64 MiB are kept.
            timeout: seconds to wait for the first frame.

        Raises ConfigurationError for another file extension or length, and the errors of `snapshot`.
        """
        from mosaic_lab.fastlane.pictures import film_path
        from mosaic_lab.runs.capture import next_frames

        file, make = film_path(path)
        file.write_bytes(make(next_frames(self.path, seconds, fps, timeout)))
        return file

    # -------------------------------------------------------------- its policy

    def policy(self, deterministic: bool = True, **options: Any) -> Policy:
        """Return the policy of the newest checkpoint as a function of observations.

        It runs in a process of the worker, which ends with the kernel, with ``close()``, at the end of a
        ``with`` block and when the policy is garbage-collected. ``options`` (``seed``, ``agent``,
        ``deadline``, ``run_code``) and errors as in `mosaic_lab.policy`.
        """
        return policy_of(self, deterministic, **options)

    # ------------------------------------------------------------ other tools

    def replay_checkpoint(self, step: int | None = None, seed: int | None = None) -> Any:
        """Return a `Replay` of an episode that was played for a film or the evaluation of the checkpoint at
        ``step`` (default: the newest), on ``seed`` (default: the first); see `mosaic_lab.Evaluation.replay`.

        The episodes of the 50 newest films and evaluations are kept. Raises ConfigurationError if there is no
        such episode.
        """
        module = import_module("mosaic_lab.arenas.replays.kept_episodes")  # built on runs, so imported on use
        return module.replay_checkpoint(self.path, step, seed)

    def dataset(self, path: Path | str) -> Path:
        """Write the finished episodes of a training with ``record="observations"`` as a Minari dataset, and
        return its folder, as `mosaic_lab.Evaluation.dataset` does. Allowed while it trains.

        Raises ConfigurationError if no episode was recorded, and MosaicError if it cannot be written.
        """
        datasets = import_module("mosaic_lab.arenas.datasets")  # built on runs, so imported on use
        folder: Path = datasets.training_dataset(self, path)
        return folder

    def export(self, to: str, out: Path | str) -> Path:
        """Export the run to another tool, "tensorboard" or "wandb", below the folder ``out``. Return the
        path.

        TensorBoard gets a folder ``out/ID``, Weights & Biases an offline run in ``out/wandb``, which
        ``wandb sync PATH`` uploads. Metrics, hyperparameters, configuration, tags and notes are exported; an
        earlier export of the run is replaced. The first export builds the environment of worker "export".
        Raises the errors of `mosaic_lab.runs.exporting.export`.
        """
        from mosaic_lab.runs.exporting import export

        return export([self], to, out)[0]

    # ----------------------------------------------------------- wait and stop

    def wait(self, timeout: float | None = None) -> Self:
        """Wait for the run to end and return it, if it completed or was cancelled.

        A notebook shows a line of progress, a script prints one to standard error every half minute. An
        interrupt does not affect the run, and its message says so. Raises RunFailed, with the worker's
        message and its last log lines, if the run failed or was lost, RunTimeout after ``timeout`` seconds,
        and MosaicError if the run was removed.
        """
        await_end([self], timeout)
        state = self.state
        if state is State.REMOVED:
            raise MosaicError(f"run {self.id} was removed: there is no end of it to wait for")
        self._announce_end()
        if state in (State.FAILED, State.LOST):
            headline = f"run {self.id} ({self.label}) {state}: {self.reason}"
            raise RunFailed(failure_report(self.folder, headline))
        return self

    def stop(self, grace: float | None = None, wait: bool = True, reason: str = "") -> Self:
        """End the run by SIGTERM and, after ``grace`` seconds (default: the run's own), SIGKILL.

        Runs that film or evaluate its checkpoints end too. Allowed in every state and any number of times; a
        later call may shorten the grace period. Returns once the run has ended, or at once with
        ``wait=False``. ``reason`` is added to the run's own reason. Raises RunTimeout if the run does not
        end, at once if it was started on a cluster whose head no longer answers.
        """
        patience = float(self._launch.get("grace_seconds", DEFAULT_GRACE)) if grace is None else grace
        background = background_runs(self.folder)
        for folder in background:
            end_run(folder, patience, wait=False)
        if end_run(self.folder, patience, wait, reason):
            self._announce_end()
        for folder in background if wait else ():
            end_run(folder, patience, wait)
        return self

    def result_table(self) -> pd.DataFrame | None:
        """Return the table that sums up the run: an evaluation's summary, a sweep's trials, a curriculum's
        stages; None for other kinds of run. Raises MosaicError if there are no results yet."""
        return None

    @property
    def trained(self) -> bool:
        """Whether an ended training is finished: it has completed, or was stopped with a checkpoint after its
        last update, which may be before ``total_timesteps``."""
        if self.state is not State.CANCELLED:
            return self.state is State.COMPLETED
        saved, planned = self.checkpoints, self.planned_timesteps
        return bool(saved) and planned is not None and saved[-1].step >= planned

    def resume(self) -> Run:
        """Start a new run that continues this training under the same name, from its newest checkpoint or, if
        it has none, from the checkpoint that it was itself resumed from.

        Returns the new run at once and leaves this one unchanged. Evaluations, sweeps and curricula resume in
        their own folders instead and return themselves. Environment variables that were passed to `Lab.train`
        as ``env_vars`` or ``pass_env_vars`` are read from this process. Raises MosaicError if the run is
        alive, has completed, is already continued, has no checkpoint or is not a training, and the errors of
        `Lab.train`.
        """
        continuation = import_module("mosaic_lab.runs.continuation")  # built on runs, so imported on use
        resumed: Run = continuation.continue_in_its_store(self)
        return resumed

    def remove(self) -> None:
        """Delete the run's folder with everything in it, and the runs that filmed or evaluated its
        checkpoints.

        The handle then reports the state "removed"; a second call does nothing. Raises MosaicError if the run
        is alive (`stop` it first) or could not be deleted completely.
        """
        _ = self.config, self._launch  # cached: the handle still describes the removed run
        if self.alive:
            raise MosaicError(f"run {self.id} is {self.state} and cannot be removed: stop it first")
        self._announce_end()  # before its files are deleted
        background = [Run(folder, self.display) for folder in background_runs(self.folder)]
        self.folder.remove()
        for run in background:
            run.stop(DEFAULT_GRACE).remove()
        if self.display is not None:
            self.display.run_removed(self)

    def _announce_end(self) -> None:
        if self.display is not None:
            self.display.run_ended(self)


def failure_report(folder: RunFolder, headline: str) -> str:
    """Return the message of a RunFailed: the headline, the end of the worker's traceback and its last log
    lines."""
    parts = [headline]
    if trace := traceback_end(folder):
        parts.append("The worker's traceback ended with:\n" + _indented(trace))
    if lines := last_log(folder, _LOG_LINES):
        parts.append("Its last log lines:\n" + _indented(lines))
    parts.append(f"The whole log: {folder.log_path}")
    return "\n".join(parts)


def traceback_end(folder: RunFolder) -> list[str]:
    """Return the last lines of the traceback in the worker's run_failed message, if any."""
    return _traceback(folder)[-_TRACEBACK_LINES:]


def last_log(folder: RunFolder, count: int) -> list[str]:
    """Return the last ``count`` log lines, without the traceback, which most workers also print."""
    lines = last_lines(folder.log_path, _WINDOW, _WINDOW)
    reported = {line.strip() for line in _traceback(folder)} - {""}
    remaining = [line for line in lines if line.strip() not in reported]
    return remaining[-count:] if count > 0 else []


def _traceback(folder: RunFolder) -> list[str]:
    payload = (final_message(folder.telemetry_path) or {}).get("payload")
    trace = payload.get("traceback") if isinstance(payload, dict) else None
    return trace.rstrip().splitlines() if isinstance(trace, str) else []


def _indented(lines: Iterable[str]) -> str:
    return "\n".join(f"    {line}" for line in lines)
