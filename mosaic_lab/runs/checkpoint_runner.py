"""The process of a run that films or evaluates the checkpoints of a training while it runs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

from mosaic_contract.heartbeat import Heartbeats
from mosaic_contract.priority import extend_priority_to_session
from mosaic_contract.telemetry import Telemetry

from mosaic_lab.keeper import locks
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.run_store import RunFolder, write_json
from mosaic_lab.keeper.states import State
from mosaic_lab.keeper.warm_workers import WARM_WORKERS
from mosaic_lab.runs.checkpoints import Checkpoint
from mosaic_lab.runs.run_process import RunCurtailed, Runner, run_to_end

LOOK_SECONDS = 1.0
"""Seconds between two polls of the training."""


_NICENESS = 10
"""Niceness of all these processes. If every core is busy, each gets a tenth of a core, so its deadlines are
ten times as long (`mosaic_contract.priority`)."""


class TrainingEnded(RunCurtailed):
    """Raised if the training was stopped or removed: its checkpoints are no longer needed."""


class CheckpointRunner(Runner):
    """Works with a training's checkpoints. ``folder`` is the folder of its own run and ``config`` that run's
    configuration (`checkpoint_runs.start_background_run`).

    ``worker`` is the name of its worker; ``later`` ends a sentence and says how the rest of its work can be
    done.
    """

    worker: ClassVar[str]
    later: ClassVar[str]

    def __init__(self, folder: RunFolder, config: Mapping[str, Any], telemetry: Telemetry) -> None:
        self.folder = folder
        self.config = config
        self.telemetry = telemetry
        self.training = RunFolder(folder.path.parent / config["training"])
        self.variables = compose_variables(os.environ, pass_env_vars=config["variables"])
        self.warm = WARM_WORKERS if folder.document(folder.launch_path).get("warm") else None
        self._look_at = 0.0

    def follow(
        self,
        next_checkpoint: Callable[[bool], Checkpoint | None],
        process: Callable[[Checkpoint], None],
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        """Process checkpoints until the training has ended and none remains. ``next_checkpoint`` is passed
        whether the training has ended; ``seed`` and ``settings`` are reported. Raises `TrainingEnded`."""
        self.telemetry.run_started(
            worker_type=self.worker,
            algo=str(self.config.get("algorithm", "")),
            env_id=str(self.config.get("env_id", "")),
            seed=seed,
            config={"training": self.config["training"], **settings},
        )
        with Heartbeats(self.telemetry):
            while True:
                self.check()
                ended = self.training.status().state.finished  # before its checkpoints are read
                if (checkpoint := next_checkpoint(ended)) is not None:
                    with self.turn():
                        process(checkpoint)
                elif ended:
                    return
                else:
                    time.sleep(LOOK_SECONDS)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for this run's turn: only one run per worker and store plays at a time. While waiting,
        ``waiting.json`` in the folder names the one that plays."""
        slot = self.folder.path.parent / ".slots" / self.worker
        holder = ""
        while (turn := locks.take(slot)) is None:
            if (now := slot.read_text()) != holder:
                holder = now
                with suppress(OSError):
                    write_json(self.folder.waiting_path, {"run": holder})
            self.check()
            time.sleep(LOOK_SECONDS / 4)
        try:
            with suppress(OSError):  # it is only displayed
                self.folder.waiting_path.unlink(missing_ok=True)
                slot.write_text(self.folder.run_id)
            yield
        finally:
            os.close(turn)

    def check(self) -> None:
        """Poll the training, at most once per `LOOK_SECONDS`. Raises `TrainingEnded`."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_SECONDS
        if not self.training.path.exists():
            raise TrainingEnded(f"run {self.training.run_id} was removed")
        stopped = self.training.status().state in (State.STOPPING, State.CANCELLED)
        at_its_goal = self.training.document(self.training.stop_path).get("goal")
        if stopped and self.config["beside"] and not at_its_goal:
            raise TrainingEnded(f"run {self.training.run_id} was stopped; {self.later}")


def run_in_background(program: str, runner: type[CheckpointRunner], *, sealed: bool = False) -> int:
    """Run a runner to its end at low priority; see `run_process.run_to_end`."""

    def begin(folder: RunFolder, telemetry: Telemetry) -> CheckpointRunner:
        os.nice(_NICENESS)
        extend_priority_to_session()
        return runner(folder, json.loads(folder.config_path.read_bytes()), telemetry)

    return run_to_end(program, begin, sealed=sealed)
