"""`Curriculum`, a training in stages. Like every run it is read from its folder alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Self

from mosaic_lab.engines.clusters import process_variables
from mosaic_lab.errors import MosaicError, warn_user
from mosaic_lab.keeper.events import EPISODE
from mosaic_lab.runs import stage_start
from mosaic_lab.runs.checkpoint_runs import resume_background
from mosaic_lab.runs.group import RunGroup
from mosaic_lab.runs.isolation import isolated, required
from mosaic_lab.runs.run import Run
from mosaic_lab.runs.stages import Segment, Stage, read_segments, stage_starts
from mosaic_lab.runs.supervisor import Supervisor
from mosaic_lab.runs.training_plan import TrainingPlan
from mosaic_lab.validation import checked_methods

if TYPE_CHECKING:
    import pandas as pd

    from mosaic_lab.telemetry.stream import Message


@checked_methods("curriculum")
class Curriculum(Run):
    """A training in stages, returned by `mosaic_lab.Lab.train` with ``curriculum=``.

    Its metrics, episodes and checkpoints are those of all stages, with steps counted across stages. Each
    stage is trained by an ordinary run of the store, which resumes from the previous checkpoint.
    """

    def stages(self) -> pd.DataFrame:
        """Return a table with a row for each stage, indexed by its number from 1.

        Columns: ``env``, ``state`` (waiting, training, stopped, done), the steps at its ``start`` and
        ``end``, the mean ``return`` of its last ``window`` episodes (or the one that reached ``until``) and
        the ids of its ``runs``; missing where unknown. Raises MosaicError if the curriculum's files are
        damaged.
        """
        return required(self._stages, self.id)

    def result_table(self) -> pd.DataFrame:
        return self.stages()

    def _stages(self) -> pd.DataFrame:
        import pandas as pd

        segments = read_segments(self.path)
        stages = [*map(Stage.from_json, self.config["curriculum"])]
        returns = stage_returns(self.folder.telemetry_path, stages, segments)
        rows = [
            _row(stage, [segment for segment in segments if segment.stage == position], returns[position])
            for position, stage in enumerate(stages)
        ]
        index = pd.RangeIndex(1, len(rows) + 1, name="stage")
        integers = dict.fromkeys(("start", "end"), "Int64")
        return pd.DataFrame(rows, index=index).astype({**integers, "return": "float64"})

    @property
    def stage_runs(self) -> list[Run]:
        """The runs of its stages that are in the store, in order."""
        folders = [self.path.parent / segment.run for segment in read_segments(self.path)]
        return [Run(folder, self.display) for folder in folders if folder.is_dir()]

    def stop(self, grace: float | None = None, wait: bool = True, reason: str = "") -> Self:
        """End the curriculum and the stage in training, which saves a checkpoint; see `Run.stop`."""
        super().stop(grace, wait, reason)
        for run in self.stage_runs if wait else ():
            if run.alive:  # its process was killed before
                run.stop(grace)
        return self

    def resume(self, env_vars: Mapping[str, str] | None = None) -> Self:
        """Continue after a stop, a failure or a kill, from the newest checkpoint. Return at once.

        If the curriculum was killed, the stage that kept running is taken over. ``env_vars`` are the
        environment variables that were passed to `Lab.train` as ``env_vars``, whose values are not stored;
        those of ``pass_env_vars`` are read from this process again. Damaged checkpoints are skipped, with a
        warning. Raises MosaicError if the curriculum is alive, cannot be started or lacks the checkpoint, and
        ConfigurationError if an environment variable is not set.
        """
        if not self.finished:
            raise MosaicError(f"run {self.id} is {self.state}: it can be resumed when it has ended")
        passed, first = required(
            lambda: ([*self.config["pass_env_vars"]], TrainingPlan.from_json(self.config["stage_plans"][0])),
            self.id,
        )
        stages = required(lambda: [*map(Stage.from_json, self.config["curriculum"])], self.id)
        note = stage_start.check_resumable(self.path.parent, read_segments(self.path), stages)
        if note:
            warn_user(note, UserWarning)
        names = [name for name in passed if name not in (env_vars or {})]
        launch = self.folder.document(self.folder.launch_path)
        supervisor = Supervisor(self.path.parent, launch.get("max_running"), self.display)
        variables = process_variables(first.request.on)
        process = Run(self.folder, self.display)  # a plain Run, because the stage that is training continues
        supervisor.resume(process, env_vars={**variables, **(env_vars or {})}, pass_env_vars=names)
        resume_background(supervisor, self, env_vars)
        return self

    def remove(self, stages: bool = False) -> None:
        """Delete the curriculum and, with ``stages=True``, the runs of its stages, which contain its
        checkpoints.

        See `Run.remove`. Raises MosaicError, without deleting anything, if one of these runs is alive.
        """
        runs = self.stage_runs if stages else []
        RunGroup([*runs, Run(self.folder, self.display)]).remove()


def stage_marks(run: Run) -> list[tuple[int, str]]:
    """Return the step at which each stage of a curriculum began, with its label.

    Empty for other runs, and if the curriculum's files are damaged.
    """
    return isolated(lambda: _stage_marks(run), lambda _: []) if "curriculum" in run.config else []


def _stage_marks(run: Run) -> list[tuple[int, str]]:
    names = [str(stage["env"]) for stage in run.config["curriculum"]]
    starts = stage_starts(read_segments(run.path))
    return [(step, f"{index + 1} {names[index]}") for index, step in starts.items() if index < len(names)]


def _row(stage: Stage, segments: list[Segment], mean_return: float | None) -> dict[str, Any]:
    last = segments[-1] if segments else None
    state = "waiting" if last is None else "training" if last.end is None else "stopped"
    return {
        "env": stage.env,
        "state": "done" if last is not None and last.done else state,
        "start": segments[0].start if segments else None,
        "end": last.end if last is not None else None,
        "return": mean_return if last is None or last.reached is None else last.reached,
        "runs": [segment.run for segment in segments],
    }


class RecentReturns:
    """The finite returns of the last ``window`` episodes, for each agent if there are several."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._agents: set[object] = set()
        self._returns: deque[float] = deque()

    def observe(self, message: Message) -> None:
        """Process the line of an ended episode."""
        if isinstance(message.total_reward, float):  # no infinity
            self._agents.add(message.agent_id)
            self._returns.append(message.total_reward)
            while len(self._returns) > self._window * len(self._agents):
                self._returns.popleft()

    @property
    def mean(self) -> float | None:
        """The mean of these returns; None before the first episode."""
        return fmean(self._returns) if self._returns else None

    @property
    def full(self) -> bool:
        """Whether ``window`` episodes have ended."""
        return len(self._returns) >= self._window * max(1, len(self._agents))


def stage_returns(
    telemetry: Path, stages: Sequence[Stage], segments: Iterable[Segment]
) -> list[float | None]:
    """Return the mean return of the last ``window`` episodes of each stage; None for a stage without
    episodes.

    ``telemetry`` is the curriculum's file, whose lines carry the ids of the runs in ``segments``.
    """
    from mosaic_contract.codec import decode_line

    from mosaic_lab.telemetry import JsonlFollower
    from mosaic_lab.telemetry.stream import Health, parse

    recent = [RecentReturns(stage.window) for stage in stages]
    by_run = {segment.run: recent[segment.stage] for segment in segments}
    for line in JsonlFollower(telemetry).lines():
        message = parse(line, Health())
        if message is None or message.type != EPISODE:
            continue
        if (of_stage := by_run.get(str(decode_line(line).get("run_id")))) is not None:
            of_stage.observe(message)
    return [returns.mean for returns in recent]
