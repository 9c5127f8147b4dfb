"""The user's handle for several runs of one experiment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from mosaic_lab.errors import MosaicError, RunFailed
from mosaic_lab.keeper.processes import identified, own_identity
from mosaic_lab.keeper.run_store import RunStore, read_json, write_json
from mosaic_lab.keeper.states import State
from mosaic_lab.runs.run import FRAMES_ANYWHERE, Run, await_end, display_of
from mosaic_lab.runs.run_labels import title_and_labels
from mosaic_lab.validation import checked_methods

if TYPE_CHECKING:
    import pandas as pd
    from mosaic_contract.fastlane import Frame


_MAX_WATCHED = 32  # maximum number of runs whose frames are awaited together


@checked_methods("group")
class RunGroup(Sequence[Run]):
    """A group of related runs, such as one experiment over several seeds."""

    def __init__(self, runs: Iterable[Run], name: str | None = None, missing: Iterable[int] = ()) -> None:
        self._runs = tuple(runs)
        self.name = name
        self.missing = tuple(seed for seed in missing if seed not in {run.seed for run in self._runs})
        """Seeds of the experiment that have no run, because the kernel exited while it was starting the
        group."""

    @property
    def trouble(self) -> str:
        """A sentence about missing seeds; empty if there are none."""
        if not self.missing:
            return ""
        seeds = ", ".join(map(str, self.missing))
        plural = "" if len(self.missing) == 1 else "s"
        return f"never started: seed{plural} {seeds} (the kernel that was starting the group exited before)"

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> RunGroup: ...
    def __getitem__(self, index: int | slice) -> Run | RunGroup:
        return RunGroup(self._runs[index], self.name) if isinstance(index, slice) else self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @property
    def states(self) -> dict[str, State]:
        """The state of each run by its id."""
        return {run.id: run.state for run in self}

    @property
    def finished(self) -> bool:
        return all(run.finished for run in self)

    @property
    def alive(self) -> bool:
        return any(run.alive for run in self)

    def wait(self, timeout: float | None = None) -> RunGroup:
        """Wait for all runs to end; see `Run.wait`. Raises RunTimeout, or RunFailed (once all have ended) if
        any failed or was never started."""
        await_end(self, timeout)
        failures: list[str] = []
        for run in self:
            try:
                run.wait()
            except RunFailed as error:
                failures.append(str(error))
        parts = []
        if failures:
            parts.append(f"{len(failures)} of {len(self)} runs failed.\n" + "\n\n".join(failures))
        if self.missing:
            parts.append(
                f"group {self.name}: {self.trouble}; lab.train(..., seed={[*self.missing]}) starts them"
            )
        if parts:
            raise RunFailed("\n\n".join(parts))
        return self

    def stop(self, grace: float | None = None, wait: bool = True) -> RunGroup:
        """End all runs; see `Run.stop`."""
        for run in self:
            run.stop(grace, wait=False)
        if wait:
            for run in self:
                run.stop(grace)
        return self

    def resume(self) -> RunGroup:
        """Resume the trainings of the group that ended early, in new runs that form a group of their own; see
        `Run.resume`. Curricula resume in their own folders and remain in this group.

        Returns the resumed runs together with those that have completed, in the group's order. Raises
        MosaicError, before any is resumed, if all have completed or one is alive or has no checkpoint.
        """
        # built on groups, so imported on use
        continuation = import_module("mosaic_lab.runs.continuation")
        resumed: RunGroup = continuation.continue_group(self)
        return resumed

    def remove(self) -> None:
        """Delete all runs; see `Run.remove`. Raises MosaicError, without deleting any, if one is alive."""
        for run in self:
            if run.alive:
                raise MosaicError(
                    f"run {run.id} is {run.state} and cannot be removed: stop it first (no run was removed)"
                )
        for run in self:
            run.remove()

    def chart(self, metric: str = "episode_return") -> None:
        """Show a live chart of one metric's mean over the runs in a notebook cell.

        The chart includes the 95% interval (see `mosaic_lab.widgets`) or, for fewer than five runs, each run.
        Raises MosaicError outside a notebook.
        """
        display_of(self, "group.metrics() gives the data anywhere").chart(self, metric)

    def frames(self, fps: float = 30) -> Any:
        """Show live frames of all runs side by side in a notebook cell; see `Run.frames`."""
        return display_of(self, FRAMES_ANYWHERE).frames(self, fps)

    @overload
    def snapshot(self, path: None = None, timeout: float = 60.0) -> bytes: ...
    @overload
    def snapshot(self, path: Path | str, timeout: float = 60.0) -> Path: ...
    def snapshot(self, path: Path | str | None = None, timeout: float = 60.0) -> bytes | Path:
        """Return the next frames of all runs side by side as the bytes of a PNG, or write it to ``path`` and
        return that.

        A run without a frame gets an empty tile. Raises the errors of `Run.snapshot` if no run has a frame.
        """
        from mosaic_lab.fastlane.montage import MontageTile, montage
        from mosaic_lab.fastlane.pictures import picture_path

        file = None if path is None else picture_path(path)
        frames = self._next_frames(timeout)
        picture = montage(list(map(MontageTile, title_and_labels(self)[1], frames)))
        assert picture is not None, "at least one frame was received"
        if file is None:
            return picture
        file.write_bytes(picture)
        return file

    def _next_frames(self, timeout: float) -> list[Frame | None]:
        """Return a frame of each run, or None for runs without one after ``timeout`` seconds in total."""
        from mosaic_lab.runs.capture import next_frame

        deadline = time.monotonic() + timeout
        errors: list[MosaicError] = []

        def frame(run: Run) -> Frame | None:
            try:
                return next_frame(run.path, max(0.0, deadline - time.monotonic()))
            except MosaicError as error:
                errors.append(error)
                return None

        with ThreadPoolExecutor(_MAX_WATCHED) as threads:
            frames = list(threads.map(frame, self))
        if not any(frames):
            raise errors[0] if errors else MosaicError("there are no runs to take a snapshot of")
        return frames

    def metrics(self, name: str | None = None, *, wide: bool = False) -> pd.DataFrame:
        """Return `Run.metrics` of all runs in one table, with the leading columns run and seed."""
        from mosaic_lab.telemetry.tables import metrics_tables, wide_metrics

        columns = (run.read_columns() for run in self)
        points = self._table(metrics_tables(columns, name, lambda: all(run.finished for run in self)))
        return wide_metrics(points, "run", "seed") if wide else points

    def episodes(self) -> pd.DataFrame:
        """Return `Run.episodes` of all runs in one table, with the leading columns run and seed."""
        return self._table([run.episodes() for run in self])

    def export(self, to: str, out: Path | str) -> list[Path]:
        """Export the runs to another tool below the folder ``out``; see `Run.export`."""
        from mosaic_lab.runs.exporting import export

        return export(self, to, out)

    def _table(self, frames: list[pd.DataFrame]) -> pd.DataFrame:
        import pandas as pd

        for run, frame in zip(self, frames, strict=True):
            frame.insert(0, "seed", run.seed)
            frame.insert(0, "run", run.id)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def __repr__(self) -> str:
        states = ", ".join(f"{run.label}: {run.state}" for run in self._runs[:8])
        name = f" {self.name}" if self.name else ""
        return f"<RunGroup{name} of {len(self)}: {states}{', …' if len(self) > 8 else ''}" + (
            f"; {self.trouble}>" if self.missing else ">"
        )


@contextmanager
def record_starting(store: RunStore, group: str) -> Iterator[Callable[[Sequence[int]], None]]:
    """Record in ``.groups`` that a group is being started. Yields a function that records the remaining
    seeds."""
    path = _starting_folder(store) / f"{group.replace('/', '_')}.json"

    def remain(seeds: Sequence[int]) -> None:
        with suppress(OSError):  # a full disk is reported by the run that cannot be started
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"remaining": list(seeds), "starter": own_identity()})

    try:
        yield remain
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def unstarted_seeds(store: RunStore) -> dict[str, list[int]]:
    """Return, by group, the seeds that were never started because the kernel that started the group
    exited."""
    seeds = {}
    for path in sorted(_starting_folder(store).glob("*.json")):
        with suppress(OSError, ValueError, TypeError, KeyError):
            content = read_json(path)
            if not identified(content["starter"]):
                seeds[path.stem] = [int(seed) for seed in content["remaining"]]
    return seeds


def _starting_folder(store: RunStore) -> Path:
    return store.root / ".groups"
