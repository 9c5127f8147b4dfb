"""The life of one training: upstream's learner in a thread, signals and the last checkpoint in the main
thread.

XLA compiles and computes for many seconds at a time, and Python handles signals only between such calls; the
main thread only waits, and can be interrupted immediately.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any, Mapping

from jumanji import __version__ as upstream_version
from jumanji.specs import jumanji_specs_to_gym_spaces
from mosaic_contract import Cancelled, Telemetry, describe_space
from mosaic_contract.checkpoints import Checkpoints
from mosaic_contract.episode_logger import EpisodeLogger
from mosaic_contract.fastlane import TrainingFrames

from .config import JumanjiPlan, module_of
from .pytree_files import to_bytes
from .renderer import make_frames
from .spaces import ActionConversion
from .telemetry import LOSSES

_STOP_SECONDS = 4.0  # for the current step or update after a signal


def train(plan: JumanjiPlan, telemetry: Telemetry) -> Mapping[str, Any]:
    """Train to the end and return the final metrics. After a signal, training ends with a checkpoint."""
    logger = EpisodeLogger(telemetry, plan.start_step, LOSSES)
    training = _Training(plan, logger)
    with suppress(Cancelled):
        training.run()
    training.end()
    return logger.final_metrics


class _Training:
    """One training in its own thread."""

    def __init__(self, plan: JumanjiPlan, logger: EpisodeLogger) -> None:
        self._plan, self._logger = plan, logger
        self._learner: Any = None
        self._checkpoints: Checkpoints | None = None
        self._frames: TrainingFrames | None = None
        self._error: BaseException | None = None
        self._stop, self._ended = threading.Event(), threading.Event()

    def run(self) -> None:
        """Train; a signal interrupts the waiting."""
        threading.Thread(target=self._guarded, name="jumanji-training", daemon=True).start()
        self._ended.wait()

    def end(self) -> None:
        """Stop the training if it still runs, save, and raise its error, if any."""
        self._stop.set()
        self._ended.wait(_STOP_SECONDS)
        if self._frames is not None:
            self._frames.close()
        if self._error is not None:
            raise self._error
        if self._checkpoints is not None:
            self._checkpoints.save(self._learner.steps)

    def _guarded(self) -> None:
        try:
            self._work()
        except BaseException as error:  # raised again in the main thread, which reports it
            self._error = error
        finally:
            self._ended.set()

    def _work(self) -> None:
        plan, logger = self._plan, self._logger
        learner = self._learner = module_of(plan.config.algorithm).Learner(plan)
        plan.report_resume(logger.telemetry, "npz")
        checkpoints = self._checkpoints = plan.checkpoints(
            logger,
            lambda: to_bytes(learner.tree),
            suffix=".npz",
            format="npz",
            upstream=("jumanji", upstream_version),
            observation_space=describe_space(jumanji_specs_to_gym_spaces(learner.env.observation_spec)),
            action_space=describe_space(ActionConversion(learner.env).space),
        )
        frames = self._frames = make_frames(plan.config, learner.env, plan.count, learner.batch)
        learner.learn(self._stop, logger, frames, checkpoints)
