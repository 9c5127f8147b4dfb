"""Evaluations on a cluster: chunks of episodes are distributed to parts, and their results collected.

A part is a run on the cluster (see `parts`). Each episode is recorded once in the evaluation's own telemetry,
whichever part played it, even if processes are killed in between.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mosaic_contract.signals import signals_held
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.engines.mirror import PLACEMENT
from mosaic_lab.errors import MosaicError
from mosaic_lab.evaluation.episode_log import Record, key_of, settled, write_episode, write_failure
from mosaic_lab.evaluation.evaluation import COMMAND, WORKER
from mosaic_lab.evaluation.parts import GRACE_SECONDS, PARTS, Part, chunk_size, part_plan
from mosaic_lab.evaluation.plan import EpisodeJob, EvaluationPlan, Key, episode_text
from mosaic_lab.evaluation.pool import VERSIONS, EvaluationAborted
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.tail import final_message
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.run_labels import new_run_id

MAX_FRUITLESS_ROUNDS = 3
"""Number of consecutive parts without an episode after which the evaluation fails."""
_PAUSE_SECONDS = 30.0  # after a part without an episode if others had some, as a lost node may come back
_POLL_SECONDS = 0.25
_END_SECONDS = 60.0  # from the last episode until all parts must have ended
_LAST_LINES = 12  # of a part's log, in an error


class FanOut:
    """Distributes a plan's episodes to parts on a cluster.

    ``recorded`` are the episodes already in the telemetry of the run in ``folder``.
    """

    def __init__(
        self, plan: EvaluationPlan, folder: Path, telemetry: Telemetry, recorded: Mapping[Key, Record]
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._telemetry = telemetry
        self._keeper = os.getppid()
        done = settled(plan, recorded)
        self._open = {job.key: job for job in plan.jobs() if job.key not in done}
        """Episodes not yet recorded, by key."""
        self._failed = {key for key in recorded if key in self._open}
        self._waiting: dict[str, deque[EpisodeJob]] = {label: deque() for label in plan.lanes}
        self._parts: list[Part] = []
        self._supervisor = Supervisor(folder / PARTS)
        self._totals: dict[str, tuple[int, float]] = {}  # episodes and their seconds, by operator
        self._fruitless = 0
        self._not_before = 0.0  # earliest time of the next start
        self._failure: EvaluationAborted | None = None
        self._versions = RunFolder(folder).document(folder / VERSIONS)

    def run(self) -> None:
        """Play the remaining episodes. Raises `EvaluationAborted`, MosaicError and ConfigurationError."""
        with signals_held():
            self._adopt()
        while self._open and self._failure is None:
            with signals_held():  # an interrupted start would stop its part
                for part in self._follow():
                    self._settle(part)
                started = self._failure is None and self._start_next()
            if not started:
                time.sleep(_POLL_SECONDS)
        if self._failure is not None:
            raise self._failure
        self._wait(_END_SECONDS)

    def close(self) -> None:
        """Stop the live parts and collect their episodes. If this process has lost its keeper, the parts
        continue and wait to be adopted by another process."""
        if os.getppid() != self._keeper:
            return
        for part in self._parts:
            part.run.stop(wait=False)
        self._wait(GRACE_SECONDS)

    # ---------------------------------------------------------------- parts

    def _adopt(self) -> None:
        """Adopt the parts of an earlier process, with all their episodes."""
        parts = [Part(run, adopted=True) for run in self._supervisor.runs()]
        self._parts = [part for part in parts if not self._has_ended(part)]
        for part in parts:
            self._record_episodes(part)
            self._note_versions(part)
        assigned = {key for part in self._parts for key in part.keys}
        for key, job in self._open.items():
            if key not in assigned:
                self._waiting[job.label].append(job)
        if parts:
            print(f"{len(self._parts)} parts of {len(parts)} continue; {len(self._open)} episodes remain")

    def _start_next(self) -> bool:
        """Start a part if possible; return whether one was started."""
        waiting = sum(map(len, self._waiting.values()))
        if not waiting or len(self._parts) >= self._plan.parallel or time.monotonic() < self._not_before:
            return False
        label, queue = max(self._waiting.items(), key=lambda item: len(item[1]))
        episodes, seconds = self._totals.get(label, (0, 0.0))
        size = chunk_size(waiting, self._plan.parallel, seconds / episodes if episodes else None)
        jobs = [queue.popleft() for _ in range(min(size, len(queue)))]
        run = self._supervisor.start(
            COMMAND,
            part_plan(self._plan, jobs).to_config(),
            worker=WORKER,
            label=f"{len(jobs):,} episodes of {label}"[:200],
            pass_env_vars=self._plan.variables,
            worker_environment={"worker": self._plan.family},
            run_id=new_run_id("part", {}),  # short, because bundles use it in file names
            on=self._plan.request.on,
        )
        self._parts.append(Part(run, adopted=False))
        print(f"part {run.id}: {run.label} on {self._plan.request.on}", flush=True)
        return True

    def _follow(self) -> list[Part]:
        """Collect the parts' new episodes and return the parts that have ended."""
        ended = [part for part in self._parts if self._has_ended(part)]
        for part in self._parts:  # an ended part's output is complete
            self._record_episodes(part)
        for part in ended:
            self._note_versions(part)
        self._parts = [part for part in self._parts if part not in ended]
        return ended

    def _has_ended(self, part: Part) -> bool:
        """Return whether a part has ended, here and on the cluster; follow it again if its local keeper was
        killed."""
        run = part.run
        if run.state is State.LOST and (run.path / PLACEMENT).is_file():
            with suppress(MosaicError):
                self._supervisor.reattach(run)
        return run.finished

    def _settle(self, part: Part) -> None:
        """Requeue the episodes that a part has not played; note a failure that further parts would share."""
        unplayed = [self._open[key] for key in part.keys if key in self._open]
        if not unplayed:
            return
        self._waiting[unplayed[0].label].extendleft(reversed(unplayed))
        print(f"part {part.run.id} ended, {len(unplayed):,} episodes remain: {part.run.reason}", flush=True)
        failure = (final_message(part.run.folder.telemetry_path) or {}).get("payload", {})
        if failure.get("error_type") in ("ConfigError", "EpisodeFailed"):  # another part would fail too
            self._failure = EvaluationAborted(
                str(failure.get("error")), failure["error_type"] == "ConfigError"
            )
            return
        if not part.episode_count:
            self._fruitless += 1
            self._not_before = time.monotonic() + (_PAUSE_SECONDS if self._totals else 0.0)
        if self._fruitless == MAX_FRUITLESS_ROUNDS:
            text = (
                f"{MAX_FRUITLESS_ROUNDS} parts in a row ended without an episode; the last: {part.run.reason}"
            )
            lines = (f"  {line}" for line in part.run.log(_LAST_LINES).splitlines())
            self._failure = EvaluationAborted("\n".join([text, *lines]), False)

    def _wait(self, seconds: float) -> None:
        """Collect episodes until all parts have ended or ``seconds`` have passed."""
        deadline = time.monotonic() + seconds
        while self._parts and time.monotonic() < deadline:
            self._follow()
            time.sleep(_POLL_SECONDS / 5)

    # ------------------------------------------------------------- episodes

    def _record_episodes(self, part: Part) -> None:
        """Record a part's new episodes, except those already recorded from another part."""
        for record in part.read():
            key = key_of(record)
            noticed = part.adopted and record["status"] == "failed" and key in self._failed
            if key in self._open and not noticed:
                self._record(self._open.pop(key), record)
                self._fruitless = 0

    def _note_versions(self, part: Part) -> None:
        versions = part.run.folder.document(part.run.path / VERSIONS)
        if any(self._versions.get(label) != lane_versions for label, lane_versions in versions.items()):
            self._versions |= versions
            write_json(self._folder / VERSIONS, self._versions)

    def _record(self, job: EpisodeJob, record: Record) -> None:
        category = self._plan.category(job.label)
        if record["status"] == "ok":
            report = {**record, "duration_seconds": record["seconds"]}
            write_episode(self._telemetry, job, report, category, record["arena"])
            episodes, seconds = self._totals.get(job.label, (0, 0.0))
            self._totals[job.label] = episodes + 1, seconds + (record["seconds"] or 0.0)
            return
        write_failure(self._telemetry, job, record["error"], category, record["arena"])
        if self._plan.request.on_failure == "stop":
            self._failure = EvaluationAborted(f"{episode_text(*job.key)}: {record['error']}", False)
