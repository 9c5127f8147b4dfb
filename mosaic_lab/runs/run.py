"""The handle users hold on one run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, Self, overload

from mosaic_lab.errors import ConfigurationError, MosaicError, RunFailed, RunTimeout
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import State
from mosaic_lab.runs.annotations import annotate
from mosaic_lab.runs.failure_report import failure_report
from mosaic_lab.runs.films import makers
from mosaic_lab.runs.run_record import RunRecord
from mosaic_lab.runs.stopping import end
from mosaic_lab.validation import checked_methods

_POLL = 0.05  # seconds between looks while waiting
DEFAULT_GRACE = 10.0
FRAMES_ANYWHERE = "run.snapshot() and run.record() work anywhere"


class RunDisplay(Protocol):
    """Shows runs to the user, and is notified of their end. `Lab` passes the notebook's to all its runs."""

    def frames(self, runs: Sequence[Run], fps: float) -> Any:
        """Return a widget with the runs' frames side by side, live."""

    def chart(self, runs: Sequence[Run], metric: str) -> None:
        """Show a metric's mean over the runs with its interval, live."""

    def waiting(self, runs: Sequence[Run]) -> Callable[[bool], None] | None:
        """Return a function that shows one line with the progress of runs that are waited for, and is called
        with whether all have ended; None where there is no place for it."""

    def run_ended(self, run: Run) -> None:
        """Update what shows ``run``: `wait` or `stop` has just seen its end, or it will be deleted."""

    def run_removed(self, run: Run) -> None:
        """Update what shows ``run``: it was just deleted."""


def display_of(runs: Iterable[Run], instead: str) -> RunDisplay:
    """Return what displays these runs. Raises MosaicError, with what works ``instead``, when nothing does."""
    if (display := _shared_display(runs)) is None:
        raise MosaicError(f"this is shown in a notebook, of runs that come from a Lab; {instead}")
    return display


def _shared_display(runs: Iterable[Run]) -> RunDisplay | None:
    return next((run.display for run in runs if run.display is not None), None)


def await_end(runs: Sequence[Run], timeout: float | None) -> None:
    """Wait for the end of all ``runs``, in a notebook with a line of progress.

    Raises RunTimeout after ``timeout`` seconds; an interrupt leaves the runs alone, and says so.
    """
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
    """One run: what it is, how it goes, its data, and how to watch and end it.

    ``display`` is given by `Lab`; without it, everything that needs no notebook works.
    """

    def __init__(self, folder: RunFolder | Path | str, display: RunDisplay | None = None) -> None:
        super().__init__(folder)
        self.display = display

    # --------------------------------------------------------- its annotations

    @property
    def name(self) -> str:
        """Your name for the run, one line of at most 200 characters; by default, and with ``""``, its label.

        It is kept in the run's folder, as ``tags`` and ``notes`` are. Setting one of these raises
        ConfigurationError for what is not valid and MosaicError where the folder cannot be written.
        """
        return super().name

    @name.setter
    def name(self, name: str) -> None:
        annotate(self.folder, {"name": name})

    @property
    def tags(self) -> tuple[str, ...]:
        """Words to find the run by: 50 of at most 50 characters each. Assign any iterable of them."""
        return super().tags

    @tags.setter
    def tags(self, tags: Iterable[str]) -> None:
        annotate(self.folder, {"tags": tags})

    @property
    def notes(self) -> str:
        """Your notes about the run, in Markdown; at most 100,000 characters."""
        return super().notes

    @notes.setter
    def notes(self, notes: str) -> None:
        annotate(self.folder, {"notes": notes})

    # -------------------------------------------------------------- its frames

    def frames(self, fps: float = 30) -> Any:
        """Watch the run in a notebook's cell, at most ``fps`` (up to 60) a second; a FrameWall of one tile.

        Raises MosaicError outside a notebook; `snapshot` and `record` work anywhere.
        """
        return display_of([self], FRAMES_ANYWHERE).frames([self], fps)

    def enable_frames(self, on: bool = True) -> None:
        """Turn the worker's frames on or off while it runs. Raises MosaicError when it publishes none.

        ``lab.train(..., frames=False)`` starts a run with its frames off. Raises ConfigurationError when
        ``on`` is neither True nor False.
        """
        from mosaic_lab.fastlane import FrameSource

        if not isinstance(on, bool):
            raise ConfigurationError(f"frames are turned on by True and off by False, not by {on!r}")
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
        """The next frame as a PNG file: its bytes, or the ``path`` (``.png``) that it was written to.

        A run that is about to start is waited for; of one that has ended it is the last frame seen here.
        Raises RunTimeout when no frame came in ``timeout`` seconds, MosaicError at once when none can come
        (the run has ended and none was seen, is on another machine, or its frames are off) and soon when the
        worker says why it has none, ConfigurationError for another ending.
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
        """Record the *next* ``seconds`` of the run, from its next frame on, and return the film's path.

        What was to be seen before is not in it: `FrameWall.record`, and the frames' own menu in a notebook,
        save the seconds that a page has just shown.

        Args:
            path: a ``.gif`` or an ``.mp4`` file.
            seconds: up to 60; a run that ends before that ends the film.
            fps: frames a second at most; fewer of large frames full of detail, since 64 MiB are kept at most.
            timeout: seconds to wait for the first frame.

        Raises ConfigurationError for another ending or length, and what `snapshot` raises.
        """
        from mosaic_lab.fastlane.pictures import film_path
        from mosaic_lab.runs.capture import next_frames

        file, make = film_path(path)
        file.write_bytes(make(next_frames(self.path, seconds, fps, timeout)))
        return file

    # ------------------------------------------------------------ other tools

    def export(self, to: str, out: Path | str) -> Path:
        """Write the run for another tool below the folder ``out``: ``to`` "tensorboard" or "wandb".

        Return the path written: of TensorBoard a folder ``out/ID``, of Weights & Biases an offline run in
        ``out/wandb``, which ``wandb sync PATH`` uploads. Metrics, hyperparameters, configuration, tags and
        notes are exported; an export of the same run is replaced. The first one builds the environment of
        worker "export". Raises what `mosaic_lab.runs.exporting.export` raises.
        """
        from mosaic_lab.runs.exporting import export

        return export([self], to, out)[0]

    # ----------------------------------------------------------- wait and stop

    def wait(self, timeout: float | None = None) -> Self:
        """Wait for the end, in a notebook with a line of progress, in a terminal with one at the end; an
        interrupt leaves the run alone, and says so.

        Returns the run when it completed or was cancelled. Raises RunFailed, with the worker's own message
        and its last log lines, when it failed or was lost, RunTimeout after ``timeout`` seconds, and
        MosaicError when the run was removed.
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
        """End the run: SIGTERM, ``grace`` seconds (default: the run's own), SIGKILL.

        What makes films of it ends, too. Legal in every state, any number of times; a later call may shorten
        the grace period. Returns when the run has ended, or at once with ``wait=False``. ``reason``: why, if
        that is to be said; it becomes a part of the run's own. Raises RunTimeout when it will not end.
        """
        patience = float(self._launch.get("grace_seconds", DEFAULT_GRACE)) if grace is None else grace
        filming = makers(self.folder)
        for folder in filming:
            end(folder, patience, wait=False)
        if end(self.folder, patience, wait, reason):
            self._announce_end()
        for folder in filming if wait else ():
            end(folder, patience, wait)
        return self

    def resume(self) -> Run:
        """Start a training that continues this one, under the same name, from its newest checkpoint.

        Return the new run at once; this one stays as it is. An evaluation, a sweep and a curriculum resume in
        their own folder instead, and are what is returned. The variables that were given to `Lab.train` as
        ``environ`` or ``pass_env`` are read from this process. Raises MosaicError when the run is alive, has
        completed, is continued already, has no checkpoint or is not a training, and what `Lab.train` raises.
        """
        continuing = import_module("mosaic_lab.runs.continuing")  # built on runs, and imported when used
        resumed: Run = continuing.continue_in_its_store(self)
        return resumed

    def remove(self) -> None:
        """Delete the run: its folder with everything in it, and the runs that have made films of it.

        The handle stays and says that the run was removed; a second call does nothing. Raises MosaicError
        when the run is alive (`stop` it first) or not all of it could be deleted.
        """
        _ = self.config, self._launch  # the handle still says what the run was
        if self.alive:
            raise MosaicError(f"run {self.id} is {self.state} and cannot be removed: stop it first")
        self._announce_end()  # while what it wrote can be read
        filming = [Run(folder, self.display) for folder in makers(self.folder)]
        self.folder.remove()
        for run in filming:
            run.stop(DEFAULT_GRACE).remove()
        if self.display is not None:
            self.display.run_removed(self)

    def _announce_end(self) -> None:
        if self.display is not None:
            self.display.run_ended(self)
