"""The read-only record of a run in its folder: configuration, status and data."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic_contract.codec import with_tuples

from mosaic_lab.keeper.processes import place
from mosaic_lab.keeper.run_store import RunFolder, requested_steps
from mosaic_lab.keeper.states import Outcome, RunStatus, State
from mosaic_lab.keeper.tail import is_count, last_lines, progress, recent_values, started_config
from mosaic_lab.runs.annotations import read_annotations
from mosaic_lab.runs.isolation import isolated
from mosaic_lab.runs.stopping import living_processes
from mosaic_lab.sanitize import sanitize

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.runs.checkpoints import Checkpoint
    from mosaic_lab.runs.films import Films
    from mosaic_lab.telemetry.columns import RunColumns


class RunRecord:
    """A read-only view of a run folder, which any process can open at any time."""

    def __init__(self, folder: RunFolder | Path | str) -> None:
        self.folder = folder if isinstance(folder, RunFolder) else RunFolder(Path(folder).resolve())
        self._started: Mapping[str, Any] | None = None
        """The configuration as resolved by the worker, once the worker has reported its start."""

    # ------------------------------------------------------------ identity

    @property
    def id(self) -> str:
        return self.folder.run_id

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    @cached_property
    def config(self) -> dict[str, Any]:
        """The configuration passed to the worker, with tuples as such rather than in their stored form."""
        return dict(with_tuples(self.folder.config()))

    @cached_property
    def _launch(self) -> dict[str, Any]:
        return self.folder.document(self.folder.launch_path)

    def _launch_text(self, name: str) -> str | None:
        value = self._launch.get(name)
        return value if isinstance(value, str) else None

    @property
    def worker(self) -> str:
        return sanitize(str(self._launch.get("worker", "unknown")))

    @property
    def algorithm(self) -> str:
        """The algorithm that is trained; empty if there is none."""
        return str(self.config.get("algorithm") or "")

    @property
    def env(self) -> str:
        """The id of the environment; empty if there is none."""
        return str(self.config.get("env_id") or "")

    @property
    def label(self) -> str:
        """A readable name, such as ``cleanrl ppo CartPole-v1 seed 1``."""
        return sanitize(str(self._launch.get("label", self.id)))

    @property
    def name(self) -> str:
        """The user's name for the run; by default its label."""
        return read_annotations(self.folder).name or self.label

    @property
    def tags(self) -> tuple[str, ...]:
        """The user's tags."""
        return read_annotations(self.folder).tags

    @property
    def notes(self) -> str:
        """The user's notes about the run, in Markdown; empty by default."""
        return read_annotations(self.folder).notes

    @property
    def group(self) -> str | None:
        """The name shared by the runs that one `Lab.train` call started over several seeds."""
        group = self._launch_text("group")
        return None if group is None else sanitize(group)

    @property
    def notebook(self) -> str | None:
        """The notebook that started the run, as Jupyter's server names it; None for runs started elsewhere
        and old runs."""
        return self._launch_text("notebook")

    @property
    def created(self) -> float | None:
        """The time at which the run was started or queued, in Unix seconds; None if not recorded."""
        created = self._launch.get("created")
        return float(created) if isinstance(created, int | float) and isfinite(created) else None

    @property
    def parent(self) -> str | None:
        """The id of the run that this one serves, such as the training that it films; None for most runs."""
        return self._launch_text("parent")

    @property
    def sweep(self) -> str | None:
        """The id of the sweep of which this run is a trial; None for others."""
        return self._part_of("sweep")

    @property
    def curriculum(self) -> str | None:
        """The id of the curriculum of which this run trains a stage; None for others."""
        return self._part_of("curriculum")

    def _part_of(self, kind: str) -> str | None:
        parent = self._launch.get(kind)
        run_id = parent.get("id") if isinstance(parent, dict) else None
        return run_id if isinstance(run_id, str) else None

    @property
    def on(self) -> str | None:
        """The cluster of the run, as passed to `Lab.train`; None for a run on this machine."""
        return self._launch_text("on")

    @property
    def seed(self) -> int | None:
        seed = self.config.get("seed")
        return seed if isinstance(seed, int) else None

    @property
    def total_timesteps(self) -> int | None:
        """The step at which the run ends. Only whole updates are trained: it may differ from
        `requested_timesteps`."""
        requested = self.requested_timesteps
        return None if requested is None else self.planned_timesteps or requested

    @property
    def requested_timesteps(self) -> int | None:
        """The requested last step; for a segment of a longer training, the last step of the segment."""
        return requested_steps(self.config)

    @property
    def planned_timesteps(self) -> int | None:
        """The last step as resolved by the worker; None if the worker does not report it."""
        planned = self._launch.get("steps")
        if planned is None and self._started is None:
            self._started = started_config(self.folder.telemetry_path)
        steps = (self._started or {}).get("steps") if planned is None else planned
        return int(steps) if is_count(steps) else None

    @property
    def hyperparameters(self) -> dict[str, Any]:
        """The hyperparameters of the training under upstream's names: the explicitly given ones first, then
        the defaults. For a run that was not started by `Lab.train`, only the explicitly given ones."""
        explicit, resolved = self.config.get("hyperparameters"), self._launch.get("hyperparameters")
        explicit = explicit if isinstance(explicit, dict) else {}
        return {**explicit, **with_tuples(resolved)} if isinstance(resolved, dict) else explicit

    @property
    def provenance(self) -> dict[str, Any]:
        """Versions, platform, git commit and the frozen worker environment; on a cluster, of the node."""
        document = self.folder.document
        return {**document(self.folder.provenance_path), **document(self.folder.node_path)}

    @cached_property
    def fallback(self) -> str:
        """Why the library was not installed from its preferred source (`WorkerEnvironment.fallback`), or
        empty."""
        environment = self.provenance.get("environment")
        reason = environment.get("fallback") if isinstance(environment, dict) else ""
        return sanitize(reason) if isinstance(reason, str) else ""

    # ------------------------------------------------------------ how it goes

    @property
    def status(self) -> RunStatus:
        """A consistent snapshot of state, reason, history, process ids and outcome."""
        return self.folder.status()

    @property
    def state(self) -> State:
        return self.status.state

    @property
    def reason(self) -> str:
        """Why the run is in its state, as one sentence; before a training's first update, also what it is
        doing."""
        status, why = self.status, self.explained(self.status)
        if self.total_timesteps is None or status.state not in (State.STARTING, State.RUNNING):
            return why
        step = self._reported_step or 0
        doing = with_duration(
            training_phase(status.state, step, learns=step > 0), self.session_seconds(status)
        )
        return "; ".join(filter(None, (doing, why)))

    def explained(self, status: RunStatus) -> str:
        """Return why the run is in this state, including processes of a lost run that are still alive."""
        if status.state is State.LOST and (processes := living_processes(self.folder, status)):
            pids = ", ".join(str(process.pid) for process in processes[:5])
            return f"{status.reason}; still alive: process {pids}. run.stop() ends what is left"
        if not status.state.finished and self.folder.disk_full():
            return f"{status.reason}; the run store's disk is full, lines may be getting lost"
        documents = {self.folder.config_path: self.config, self.folder.launch_path: self._launch}
        empty = [path for path, content in documents.items() if not content]
        return "; ".join(filter(None, (status.reason, self.waits_for, self.folder.misplaced(empty))))

    @property
    def waits_for(self) -> str:
        """What a run that evaluates or films checkpoints is waiting for; empty for all other runs."""
        if self.parent is None or self.state is not State.RUNNING:
            return ""
        playing = self.folder.document(self.folder.waiting_path).get("run")
        return f"waiting for its turn: run {sanitize(str(playing))} is playing" if playing else ""

    @property
    def outcome(self) -> Outcome | None:
        """How the processes ended; None until then, and for lost runs."""
        return self.status.outcome

    @property
    def finished(self) -> bool:
        return self.state.finished

    @property
    def alive(self) -> bool:
        """Whether the run has not ended or, for a lost run, whether any of its processes is left."""
        return self.lives(self.status)

    def lives(self, status: RunStatus) -> bool:
        """Return `alive` for a status read earlier."""
        return (
            bool(living_processes(self.folder, status))
            if status.state is State.LOST
            else not status.state.finished
        )

    @property
    def gpus(self) -> tuple[int, ...]:
        """Indices of the GPUs assigned to the worker."""
        return self.status.gpus

    @property
    def step(self) -> int | None:
        """The last step reported by the worker or, before the first report, that of the checkpoint that the
        run continues; None without either."""
        steps = [step for step in (self._reported_step, self.resumed_step) if step is not None]
        return max(steps, default=None)

    @property
    def _reported_step(self) -> int | None:
        return progress(self.folder.telemetry_path).get("step")

    @property
    def resumed_from(self) -> Path | None:
        """The checkpoint that the run continues; None if it began at step 0."""
        checkpoint = self.config.get("checkpoint")
        source = checkpoint.get("resume_from") if isinstance(checkpoint, Mapping) else None
        return Path(source) if isinstance(source, str) else None

    @property
    def resumed_step(self) -> int | None:
        """The step of that checkpoint; None without a checkpoint or if its name has no step."""
        saved = "" if self.resumed_from is None else self.resumed_from.stem.removeprefix("step-")
        return int(saved) if saved.isdecimal() else None

    @property
    def progress(self) -> float | None:
        """The fraction of steps done, from 0 to 1; None if unknown."""
        step, total = self.step, self.total_timesteps
        return min(1.0, step / total) if step is not None and total else None

    @property
    def progress_text(self) -> str:
        """The progress as text, such as ``45% of 100,000`` or ``2 of 10 films``; empty before the first step.

        A completed run shows its step count, followed by ``(25,000 requested)`` if that differs. A run
        without a known last step shows the step count only.
        """
        if self.worker == "films":
            from mosaic_lab.runs.films import films_made

            return films_made(self.folder)
        step, total = self.step, self.total_timesteps
        if step is None or not (step or total):
            return ""
        if not total:
            return f"{step:,} steps"
        if self.state is State.COMPLETED:
            requested = self.requested_timesteps
            return f"{step:,} steps" + (f" ({requested:,} requested)" if requested != step else "")
        return f"{min(1.0, step / total):.0%} of {total:,}"

    @property
    def recent_return(self) -> float | None:
        """The mean return of the last 20 episodes (with several agents, the mean over agents); None without
        episodes. Without a return metric, it is computed from the episode lines."""
        from mosaic_lab.telemetry.metrics import RETURN_NAMES, WINDOW, ReturnMeans, episodes_return

        means = ReturnMeans()
        path = self.folder.telemetry_path
        means.add(recent_values(path, RETURN_NAMES, WINDOW))
        return episodes_return(path) if means.last is None else means.last

    @property
    def memory_mb(self) -> float | None:
        """The current resident memory of the run's processes in MiB; None if none runs on this machine."""
        from mosaic_lab.keeper import orphans

        status = self.status
        if status.state is State.LOST:
            survivors = living_processes(self.folder, status)
            return orphans.resident_mb(survivors) if survivors else None
        if status.state.finished or status.keeper_pid is None or status.place != place():
            return None
        processes = orphans.below(status.keeper_pid)
        return orphans.resident_mb(processes) if processes else None

    @property
    def elapsed(self) -> float | None:
        """The worker's run time in seconds, on a monotonic clock, including the time before the run was
        resumed in its folder; None until the worker is started."""
        return self.seconds(self.status)

    def seconds(self, status: RunStatus) -> float | None:
        """Return `elapsed` for a status read earlier."""
        return (self.session_seconds(status) or 0.0) + status.earlier_seconds or None

    def session_seconds(self, status: RunStatus) -> float | None:
        """Return the seconds since the newest worker was started, or its run time; None until then."""
        if status.outcome is not None:
            return status.outcome.duration_seconds
        if status.started_monotonic is None or status.place != place():
            return None
        return time.monotonic() - status.started_monotonic

    # --------------------------------------------------------------- its data

    def metrics(self, name: str | None = None, *, wide: bool = False) -> pd.DataFrame:
        """Return metric points as a table with the columns step, timestamp, name and value.

        ``name`` selects one metric. With ``wide=True``, the table has a row for each step and a column for
        each metric instead, containing the last value at that step, or NaN.

        The worker's metrics are followed by system metrics, measured by the keeper: ``system/cpu_percent``
        (100 is one core), ``system/memory_mb``, ``system/disk_mb`` (the run folder) and, for each of the
        run's GPUs as a whole, ``system/gpu<i>_percent`` and ``system/gpu<i>_memory_mb``. MB are MiB.
        A run has at most 1,024 metrics; values of further ones are counted in `health`.

        Raises ConfigurationError if the run has ended without reporting ``name``; while it is alive, the
        table is empty.
        """
        from mosaic_lab.telemetry.tables import metrics_tables, wide_metrics

        (points,) = metrics_tables([self.read_columns()], name, lambda: self.finished)
        return wide_metrics(points) if wide else points

    def episodes(self) -> pd.DataFrame:
        """Return a table of all episodes: episode_index, total_reward, steps and further columns of the
        worker."""
        from mosaic_lab.telemetry import read_episodes

        return read_episodes(self.folder.telemetry_path)

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Saved checkpoints that still exist, oldest first."""
        from mosaic_lab.runs.checkpoints import read_checkpoints

        return read_checkpoints(self.folder)

    @property
    def best_checkpoint(self) -> Checkpoint:
        """The checkpoint with the highest mean return in its evaluation (``evaluate=`` of `Lab.train`).
        Raises MosaicError if no remaining checkpoint has been evaluated."""
        from mosaic_lab.runs.checkpoints import best_checkpoint

        return best_checkpoint(self.folder)

    @property
    def films(self) -> Films:
        """Films of the checkpoints' policies, oldest first; see `Lab.train` and `Lab.make_films`."""
        from mosaic_lab.runs.films import Films

        return Films(self.folder)

    @property
    def films_requested(self) -> bool:
        """Whether the run was started with ``films="last"`` or ``"each"``."""
        return self._launch.get("films") in ("last", "each")

    @property
    def health(self) -> dict[str, int]:
        """Counts of telemetry lines read, faulty and dropped; see `mosaic_lab.telemetry.Health`."""
        return self.read_columns().health.counts()

    def read_columns(self) -> RunColumns:
        """Return all metric points written so far. Raises OSError if a file cannot be read."""
        columns = self._columns
        while columns.read(lambda: self.finished):
            pass
        if self.finished:  # the cache has them, and thousands of runs would keep too many files open
            self.__dict__.pop("_columns", None)
        return columns

    @cached_property
    def _columns(self) -> RunColumns:
        from mosaic_lab.telemetry.column_cache import ColumnCache
        from mosaic_lab.telemetry.columns import RunColumns

        return RunColumns(self.path.resolve(), ColumnCache())

    def log(self, lines: int = 20) -> str:
        """Return the last lines that the worker printed."""
        return "\n".join(last_lines(self.folder.log_path, lines))

    # ---------------------------------------------------------------- identity

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunRecord) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __repr__(self) -> str:
        return isolated(self._described, lambda reason: f"<{type(self).__name__} {self.id}: {reason}>")

    def _described(self) -> str:
        return f"<Run {self.id}: {self.state}, {self.reason}>"


def training_phase(state: State, step: int, *, learns: bool) -> str:
    """Return the activity of a training before it ``learns``, as text; empty afterwards or if not running."""
    if state is State.STARTING:
        return "starting the worker and checking the configuration"
    if state is not State.RUNNING or learns:
        return ""
    return "first steps, no update yet" if step else "importing libraries and building the environment"


def with_duration(activity: str, seconds: float | None) -> str:
    """Return ``activity`` with its time: ``importing libraries, 12 s``."""
    if not activity or seconds is None:
        return activity
    return f"{activity}, {seconds:.0f} s" if seconds < 120 else f"{activity}, {seconds // 60:.0f} min"
