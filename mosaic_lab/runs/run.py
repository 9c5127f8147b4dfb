"""The handle users hold on one run. Everything is read from the run folder.

Crosses the boundary: `Run`. It holds no process and no thread, so it can be made at any time in any process
(after a kernel restart, in a second kernel) and means the same.
"""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from mosaic_lab.errors import ConfigurationError, MosaicError, RunFailed, RunTimeout
from mosaic_lab.keeper.processes import place
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import Outcome, RunStatus, State
from mosaic_lab.keeper.tail import last_lines, progress, recent_returns
from mosaic_lab.keywords import checked_methods
from mosaic_lab.runs import hooks
from mosaic_lab.runs.phases import phase, timed
from mosaic_lab.runs.stopping import end, survivors

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.runs.checkpoints import Checkpoint
    from mosaic_lab.telemetry import RunFeed

_POLL = 0.05  # seconds between looks while waiting
DEFAULT_GRACE = 10.0


@checked_methods("run")
class Run:
    """One run: what it is, how it goes, its data, and the way to end it."""

    def __init__(self, folder: RunFolder | Path | str) -> None:
        self.folder = folder if isinstance(folder, RunFolder) else RunFolder(Path(folder).resolve())

    # ------------------------------------------------------------ what it is

    @property
    def id(self) -> str:
        return self.folder.run_id

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    @cached_property
    def config(self) -> dict[str, Any]:
        """The whole configuration, as the worker was given it."""
        return self.folder.document(self.folder.config_path)

    @cached_property
    def _launch(self) -> dict[str, Any]:
        return self.folder.document(self.folder.launch_path)

    @property
    def worker(self) -> str:
        return str(self._launch.get("worker", "unknown"))

    @property
    def label(self) -> str:
        """For people, such as ``cleanrl ppo CartPole-v1 seed 1``."""
        return str(self._launch.get("label", self.id))

    @property
    def group(self) -> str | None:
        """The name shared by the runs of one `Lab.train` over several seeds."""
        group = self._launch.get("group")
        return group if isinstance(group, str) else None

    @property
    def seed(self) -> int | None:
        seed = self.config.get("seed")
        return seed if isinstance(seed, int) else None

    @property
    def total_timesteps(self) -> int | None:
        total = self.config.get("total_timesteps")
        return total if isinstance(total, int) else None

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The values that the worker trains with, by upstream's names: those given, and upstream's defaults.

        Of a run that was not started by `Lab.train`, only those given.
        """
        known = self._launch.get("hyperparameters") or self.config.get("hyperparameters")
        return known if isinstance(known, dict) else {}

    @property
    def provenance(self) -> dict[str, Any]:
        """Versions, platform, git commit, frozen worker environment."""
        return self.folder.document(self.folder.provenance_path)

    # ------------------------------------------------------------ how it goes

    @property
    def status(self) -> RunStatus:
        """One consistent reading of state, reason, history, pids and outcome."""
        return self.folder.status()

    @property
    def state(self) -> State:
        return self.status.state

    @property
    def reason(self) -> str:
        """Why the run is in its state, in a sentence; says also what of a lost run is still alive, and what
        a training does before its first step."""
        status, why = self.status, self.explained(self.status)
        if self.total_timesteps is None or status.state not in (State.STARTING, State.RUNNING):
            return why
        step = self.step or 0
        doing = timed(phase(status.state, step, learns=step > 0), self.elapsed)
        return "; ".join(filter(None, (doing, why)))

    def explained(self, status: RunStatus) -> str:
        """Why the run is in this state, as far as its keeper and its processes tell."""
        if status.state is State.LOST and (left := survivors(self.folder, status)):
            pids = ", ".join(str(process.pid) for process in left[:5])
            return f"{status.reason}; still alive: process {pids}. run.stop() ends what is left"
        if not status.state.finished and self.folder.disk_full():
            return f"{status.reason}; the run store's disk is full, lines may be getting lost"
        return "; ".join(filter(None, (status.reason, self.folder.misplaced())))

    @property
    def outcome(self) -> Outcome | None:
        """How the processes ended; None before that, and for lost runs."""
        return self.status.outcome

    @property
    def finished(self) -> bool:
        return self.state.finished

    @property
    def alive(self) -> bool:
        """Whether any process of the run lives: from queued to the end; of a lost run, while any is left."""
        status = self.status
        return (
            bool(survivors(self.folder, status)) if status.state is State.LOST else not status.state.finished
        )

    @property
    def gpus(self) -> tuple[int, ...]:
        """Indices of the GPUs the worker was given."""
        return self.status.gpus

    @property
    def step(self) -> int | None:
        """The newest step count that the worker reported; None before the first."""
        return progress(self.folder.telemetry_path).get("step")

    @property
    def progress(self) -> float | None:
        """Steps done of ``total_timesteps``, 0 to 1; None while unknown."""
        step, total = self.step, self.total_timesteps
        return min(1.0, step / total) if step is not None and total else None

    @property
    def recent_return(self) -> float | None:
        """Mean return of the last 20 episodes that the end of the telemetry tells of; None without any.

        Where several agents act, each one's episode counts: it is the mean over agents, too.
        """
        returns = recent_returns(self.folder.telemetry_path)
        return sum(returns) / len(returns) if returns else None

    @property
    def memory_mb(self) -> float | None:
        """Resident memory of the run's processes now, MiB; None when nothing of it runs here."""
        from mosaic_lab.keeper import orphans

        status = self.status
        if status.state is State.LOST:
            left = survivors(self.folder, status)
            return orphans.resident_mb(left) if left else None
        if status.state.finished or status.keeper_pid is None or status.place != place():
            return None
        processes = orphans.below(status.keeper_pid)
        return orphans.resident_mb(processes) if processes else None

    @property
    def elapsed(self) -> float | None:
        """Seconds since the worker was started, on a clock that never jumps; None before that."""
        status = self.status
        if status.outcome is not None:
            return status.outcome.duration_seconds
        if status.started_monotonic is None or status.place != place():
            return None
        return time.monotonic() - status.started_monotonic

    # --------------------------------------------------------------- its data

    def metrics(self, name: str | None = None) -> pd.DataFrame:
        """All metric points (of one name): columns step, timestamp, name, value."""
        from mosaic_lab.telemetry import read_metrics

        return read_metrics(self.folder.telemetry_path, name)

    def episodes(self) -> pd.DataFrame:
        """All episodes: episode_index, total_reward, steps and what else the worker tells of them."""
        from mosaic_lab.telemetry import read_episodes

        return read_episodes(self.folder.telemetry_path)

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Saved checkpoints that are still there, oldest first."""
        from mosaic_lab.runs.checkpoints import read_checkpoints

        return read_checkpoints(self.folder)

    @property
    def health(self) -> dict[str, int]:
        """Counts of what was read, was wrong with it or was dropped; see `mosaic_lab.telemetry.Health`."""
        feed = self._feed
        feed.poll()
        while feed.behind:
            feed.poll()
        return feed.health.counts()

    @cached_property
    def _feed(self) -> RunFeed:
        from mosaic_lab.telemetry import RunFeed

        return RunFeed(self.path)

    def log(self, lines: int = 20) -> str:
        """The last lines of what the worker printed."""
        return "\n".join(last_lines(self.folder.log_path, lines))

    # -------------------------------------------------------------- its frames

    def frames(self, fps: float = 30) -> Any:
        """Watch the run in a notebook's cell, at most ``fps`` (up to 60) a second; a FrameWall of one tile.

        Raises MosaicError outside a notebook; `snapshot` and `record` work anywhere.
        """
        return hooks.front().frame_wall(self, fps)

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

    # ----------------------------------------------------------- wait and stop

    def wait(self, timeout: float | None = None) -> Run:
        """Wait for the end; interrupting the wait leaves the run alone.

        Returns the run when it completed or was cancelled. Raises RunFailed, with the worker's own message
        and its last log lines, when it failed or was lost, RunTimeout after ``timeout`` seconds, and
        MosaicError when the run was removed.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not (status := self.status).state.finished:
            if deadline is not None and time.monotonic() >= deadline:
                raise RunTimeout(
                    f"run {self.id} is still {status.state} after {timeout:g} s: {status.reason}"
                )
            time.sleep(_POLL)
        if status.state is State.REMOVED:
            raise MosaicError(f"run {self.id} was removed: there is no end of it to wait for")
        hooks.announce_end(self)
        if status.state in (State.FAILED, State.LOST):
            from mosaic_lab.runs.failure_report import obituary

            headline = f"run {self.id} ({self.label}) {status.state}: {self.reason}"
            raise RunFailed(obituary(self.folder, headline))
        return self

    def stop(self, grace: float | None = None, wait: bool = True) -> Run:
        """End the run: SIGTERM, ``grace`` seconds (default: the run's own), SIGKILL.

        Legal in every state, any number of times; a later call may shorten the grace period. Returns when the
        run has ended, or at once with ``wait=False``. Raises RunTimeout when it will not end.
        """
        patience = float(self._launch.get("grace_seconds", DEFAULT_GRACE)) if grace is None else grace
        if end(self.folder, patience, wait):
            hooks.announce_end(self)
        return self

    def remove(self) -> None:
        """Delete the run: its folder with everything in it.

        The handle stays and says that the run was removed; a second call does nothing. Raises MosaicError
        when the run is alive (`stop` it first) or not all of it could be deleted.
        """
        _ = self.config, self._launch  # the handle still says what the run was
        if self.alive:
            raise MosaicError(f"run {self.id} is {self.state} and cannot be removed: stop it first")
        hooks.announce_end(self)  # while what it wrote can be read
        self.folder.remove()
        hooks.announce_removal(self)

    # ---------------------------------------------------------------- identity

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.state}, {self.reason}>"
