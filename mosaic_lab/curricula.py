"""The process that trains a curriculum: ``python -m mosaic_lab.curricula --config <run folder>/config.json``.

It starts the runs of the stages one after another, and relays their reports to the curriculum's own
telemetry. Every run is recorded before it starts, and the reason for ending a stage early before it is ended.
A curriculum can therefore continue after being killed, after the stages already recorded in its folder, while
the current stage keeps training. See `runs.run_process`.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from mosaic_contract.codec import decode_line, encode_line
from mosaic_contract.signals import signals_held
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.errors import MosaicError
from mosaic_lab.keeper.events import CHECKPOINT_SAVED, EPISODE, HEARTBEAT, METRICS
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.states import State
from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.runs.curriculum import RecentReturns
from mosaic_lab.runs.curriculum_checks import stage_name
from mosaic_lab.runs.curriculum_plan import CurriculumPlan
from mosaic_lab.runs.run_labels import default_label, new_run_id
from mosaic_lab.runs.run_process import RunAborted, Runner, run_to_end
from mosaic_lab.runs.stage_start import ended, next_stage, stage_start
from mosaic_lab.runs.stages import Segment, read_segments, stage_starts, write_segments
from mosaic_lab.runs.stopping import add_to_reason
from mosaic_lab.telemetry import JsonlFollower
from mosaic_lab.telemetry.progress import EpisodeCount
from mosaic_lab.telemetry.stream import Health, Message, decode_message, parse

POLL_SECONDS = 0.25

logger = logging.getLogger(__name__)


class RelayProgress:
    """The lines relayed to a curriculum's telemetry so far: ``lines`` by run id, and the number of
    ``episodes``."""

    def __init__(self, telemetry: Path) -> None:
        self.lines: Counter[str] = Counter()
        self.episodes = EpisodeCount()
        for line in JsonlFollower(telemetry).lines():
            if (message := parse(line, Health())) is not None:
                self.lines[str(decode_line(line).get("run_id"))] += 1
                if message.type == EPISODE:
                    self.episodes.observe(message)


class Relay:
    """Relays the reports of ``run`` after the step ``reported``, without lines already ``passed``.

    Lines keep their run's id and their time. Steps that are trained again after a stop, because the
    checkpoint is older, have been reported before and are omitted. ``folder`` is the curriculum's folder,
    ``window`` the number of episodes for `mean_return`.
    """

    def __init__(
        self,
        run: Run,
        folder: Path,
        telemetry: Telemetry,
        passed: RelayProgress,
        *,
        reported: int,
        window: int,
    ) -> None:
        self.saved = False
        """Whether the run has saved a checkpoint."""
        self._run = run
        self._folder = folder
        self._telemetry = telemetry
        self._reported = reported
        self._skip = passed.lines[run.id]
        self._episodes = passed.episodes
        self._recent = RecentReturns(window)
        self._follower = JsonlFollower(run.folder.telemetry_path)
        telemetry.advance(reported)

    def read(self) -> None:
        """Relay new lines. Raises OSError if the run's telemetry cannot be read."""
        behind = True
        while behind:
            lines = b"".join(self._passed(self._follower.poll()))
            if lines:
                self._telemetry.steps(lines)
            behind = self._follower.behind
        self._follower.close()

    @property
    def mean_return(self) -> float | None:
        """The mean return of the last ``window`` episodes, per agent if there are several; None with fewer
        episodes."""
        return self._recent.mean if self._recent.full else None

    def _passed(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            message = parse(line, Health())
            if message is None or (encoded := self._encoded(line, message)) is None:
                continue
            if self._skip:
                self._skip -= 1
                continue
            if message.type == EPISODE:
                self._episodes.observe(message)
                self._telemetry.episodes = self._episodes.ended
            yield encoded

    def _encoded(self, line: bytes, message: Message) -> bytes | None:
        """Process a message, and return the line to relay; None if it is not relayed."""
        step = message.payload.step if message.payload is not None else message.step
        if message.event not in (METRICS, HEARTBEAT, CHECKPOINT_SAVED) and message.type != EPISODE:
            return None
        self._telemetry.advance(step or 0)
        if message.event == CHECKPOINT_SAVED:
            self.saved = True
            return self._placed(line)
        if message.type == EPISODE:
            self._recent.observe(message)
        if message.event == HEARTBEAT:
            return self._furthest(line)
        is_repeated = step is not None and step <= self._reported
        return None if is_repeated else line + b"\n"

    def _furthest(self, line: bytes) -> bytes | None:
        """Return a heartbeat with the counts of the curriculum, because each worker counts from 0."""
        message = decode_message(line, HEARTBEAT)
        if message is None:
            return None
        counts = {"step": self._telemetry.last_step, "episode": self._telemetry.episodes}
        return encode_line({**message, "payload": {**message["payload"], **counts}})

    def _placed(self, line: bytes) -> bytes | None:
        """Return the report of a checkpoint with its path relative to the curriculum's folder, so that the
        run store can be moved."""
        message = decode_message(line, CHECKPOINT_SAVED)
        if message is None:
            return None
        path = self._run.folder.placed(str(message["payload"]["checkpoint_path"]))
        message["payload"]["checkpoint_path"] = os.path.relpath(path, self._folder)
        return encode_line(message)


class StageFailed(RunAborted):
    """Raised if the run of a stage did not complete, or the next one cannot begin."""

    error_type = "StageFailed"


class CurriculumRunner(Runner):
    """Runs ``plan`` for the curriculum in ``folder``, whose runs are in the store of ``supervisor``."""

    def __init__(
        self, plan: CurriculumPlan, folder: RunFolder, seed: int, supervisor: Supervisor, telemetry: Telemetry
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._seed = seed
        self._supervisor = supervisor
        self._telemetry = telemetry
        self._segments = read_segments(folder.path)
        self._passed = RelayProgress(folder.telemetry_path)
        self._run: Run | None = None
        self._relay: Relay | None = None

    def run(self) -> None:
        """Run all stages to their end. Raises StageFailed, MosaicError and ConfigurationError."""
        while True:
            with signals_held():  # an interrupted start would stop its run, which outlives this process
                if not self._look():
                    return
            time.sleep(POLL_SECONDS)

    def stop(self, deadline: float) -> None:
        """Stop the current stage, and record its end, by the monotonic time ``deadline``."""
        if self._run is None or self._relay is None:
            return
        self._run.stop(wait=False)
        while self._run.alive and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS / 5)
        self._relay.read()
        if not self._run.alive:
            self._record_end()

    def _look(self) -> bool:
        """Do what is due; return whether more remains to be done."""
        if self._run is None or self._relay is None:
            segment = self._next()
            if segment is None:
                return False
            was_started = (self._root / segment.run).is_dir()
            self._run, self._relay = self._follow(segment)
            if was_started and self._run.finished:  # if it was not completed, another run continues it
                self._relay.read()
                self._record_end()
                self._run = self._relay = None
            return True
        finished = self._run.finished
        self._relay.read()  # an ended run's telemetry is complete
        if finished:
            self._record_end()
            self._check(self._run)
            self._note_goal(self._run, self._relay)
            self._run = self._relay = None
        else:
            self._end_early(self._run, self._relay)
        return True

    # ------------------------------------------------------------------ starting

    def _next(self) -> Segment | None:
        """Return the segment in training, or record and return the next one; None at the end.

        A segment whose run had not started when this process was killed is recorded again, because its
        checkpoint may be gone.
        """
        if self._segments and self._segments[-1].end is None:
            if self._has_started(self._segments[-1]):
                return self._segments[-1]
            self._segments.pop()
        stage = next_stage(self._segments, self._plan.stages)
        return None if stage is None else self._begin(stage)

    def _has_started(self, segment: Segment) -> bool:
        """Return whether the run of a segment was started; remove the folder of an interrupted start."""
        run = Run(self._root / segment.run)
        if run.path.is_dir() and run.state is State.LOST and run.status.keeper_pid is None:
            run.folder.remove()
        return run.path.is_dir()

    def _begin(self, stage: int) -> Segment:
        """Record the next run of a stage. Raises StageFailed if there is no checkpoint to start it from."""
        try:
            saved, note = stage_start(self._root, self._segments, stage, self._name(stage))
        except MosaicError as error:
            raise StageFailed(str(error)) from None
        if note:
            logger.warning("%s: %s", self._name(stage), note)
        path, start = (os.path.relpath(saved.path, self._root), saved.step) if saved else (None, 0)
        training = self._plan.plans[stage]
        run_id = new_run_id(training.worker, {**training.config, "seed": self._seed})
        reported = self._segments[-1].furthest if self._segments else 0
        segment = Segment(stage, run_id, start, path, reported)
        self._segments.append(segment)
        write_segments(self._folder.path, self._segments)
        return segment

    def _follow(self, segment: Segment) -> tuple[Run, Relay]:
        """Return the run of a segment, started if necessary, with the relay of its reports."""
        run = Run(self._root / segment.run)
        if not run.path.is_dir():
            run = self._start(segment)
        relay = Relay(
            run,
            self._folder.path,
            self._telemetry,
            self._passed,
            reported=segment.reported,
            window=self._plan.stages[segment.stage].window,
        )
        return run, relay

    def _start(self, segment: Segment) -> Run:
        plan, number = self._plan.plans[segment.stage], segment.stage + 1
        first_step = stage_starts(self._segments)[segment.stage]
        steps = self._plan.stages[segment.stage].steps
        total = self._plan.total_timesteps
        config = {**plan.config, "seed": self._seed}
        try:
            return plan.start(
                self._supervisor,
                self._seed,
                curriculum={"id": self._folder.run_id, "stage": number},
                run_id=segment.run,
                label=f"{default_label(plan.worker, config)} stage {number}",
                resume_from=None if segment.path is None else str(self._root / segment.path),
                stop_at=total if steps is None else min(total, first_step + steps),
            )
        except MosaicError as error:
            raise MosaicError(f"stage {number} could not be started: {error}") from error

    @property
    def _root(self) -> Path:
        return self._supervisor.store.root

    # ------------------------------------------------------------------ ends

    def _end_early(self, run: Run, relay: Relay) -> None:
        """Record that a stage's return is high enough, then stop its run."""
        segment = self._segments[-1]
        goal, value = self._plan.stages[segment.stage].until, relay.mean_return
        if segment.reached is not None:
            value = segment.reached  # decided before, but possibly not carried out
        elif goal is None or value is None or value < goal or not relay.saved:
            return
        self._replace(replace(segment, reached=value))
        if run.state is not State.STOPPING:
            run.stop(wait=False, reason=f"its mean return is {value:.5g}")

    def _note_goal(self, run: Run, relay: Relay) -> None:
        """Add to the reason of a stage's run that it reached its goal, but only at its end."""
        segment = self._segments[-1]
        goal, value = self._plan.stages[segment.stage].until, relay.mean_return
        if segment.reached is None and goal is not None and value is not None and value >= goal:
            add_to_reason(
                run.folder, f"its goal was reached at its end: mean return {value:.5g}, until {goal:g}"
            )

    def _record_end(self) -> None:
        """Record the end of the current segment's run."""
        segment = ended(self._root, self._segments)
        self._replace(replace(segment, furthest=max(segment.reported, self._telemetry.last_step)))

    def _check(self, run: Run) -> None:
        """Raise StageFailed if a stage did not complete, or left no checkpoint to continue from."""
        segment = self._segments[-1]
        stage = f"{self._name(segment.stage)}, run {run.id}"
        if not segment.done:
            raise StageFailed(f"{stage}, {run.state}: {run.reason}")
        if segment.stage + 1 < len(self._plan.stages) and not run.checkpoints:
            raise StageFailed(f"{stage}, saved no checkpoint to continue from")

    def _name(self, stage: int) -> str:
        return stage_name(stage + 1, self._plan.stages[stage])

    def _replace(self, segment: Segment) -> None:
        if segment != self._segments[-1]:
            self._segments[-1] = segment
            write_segments(self._folder.path, self._segments)


def begin(folder: RunFolder, telemetry: Telemetry) -> CurriculumRunner:
    """Return the runner of the curriculum in ``folder``. Raises ConfigurationError."""
    config = json.loads(folder.config_path.read_bytes())
    plan = CurriculumPlan.from_config(config)
    telemetry.run_started(
        worker_type=plan.plans[0].worker,
        algo=str(config.get("algorithm", "")),
        env_id=str(config.get("env_id", "")),
        seed=config["seed"],
        config={"curriculum": config["curriculum"], "hyperparameters": config["hyperparameters"]},
    )
    launch = folder.document(folder.launch_path)
    supervisor = Supervisor(folder.path.parent, launch.get("max_running"), warm=launch.get("warm", False))
    return CurriculumRunner(plan, folder, config["seed"], supervisor, telemetry)


if __name__ == "__main__":
    sys.exit(run_to_end("mosaic_lab.curricula", begin))
