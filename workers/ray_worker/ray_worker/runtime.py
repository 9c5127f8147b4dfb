"""The life of one training: upstream's algorithm in this process, runners and learners as placed by Ray."""

from __future__ import annotations

import logging
import socket
from contextlib import ExitStack
from typing import Any, Mapping

from mosaic_contract import Cancelled, Telemetry, UpstreamFailed
from mosaic_contract.fastlane import TrainingFrames

from .cluster import hearing_signals, ray_running, scratch, within
from .config import RllibPlan

_STOP_SECONDS = 2.0  # for upstream to stop its runners
log = logging.getLogger(__name__)


def train(plan: RllibPlan, telemetry: Telemetry) -> Mapping[str, Any]:
    """Train to the end and return the final metrics. After a signal, training ends with a checkpoint at the
    end of the current iteration."""
    log.info("importing RLlib")
    with ExitStack() as stack:
        folder = stack.enter_context(scratch(plan.address))
        from .factory import training_config

        upstream = training_config(plan)
        needed = {"CPU": plan.cpus, "GPU": 0 if plan.learns_here else plan.gpus}
        stack.enter_context(ray_running(folder, plan.address, needed))
        return _train(plan, upstream, telemetry, stack)


def _train(plan: RllibPlan, upstream: Any, telemetry: Telemetry, stack: ExitStack) -> Mapping[str, Any]:
    from .checkpoints import checkpoints_of, restore
    from .runner_errors import RunnerErrors
    from .telemetry import RllibLogger

    config = plan.config
    log.info("building %s (num_env_runners=%d)", plan.algorithm.name, plan.runners)
    algorithm = hearing_signals(upstream.build_algo)
    stack.callback(within, _STOP_SECONDS, algorithm.stop)
    logger = RllibLogger(telemetry, plan)
    stack.callback(logger.close)
    if plan.resume_from:
        restore(algorithm, plan.resume_from[0])
        plan.report_resume(telemetry, "torch")
    if plan.address:
        _report_remote_frames(plan, algorithm, stack)
    checkpoints = checkpoints_of(plan, algorithm, logger)
    errors = RunnerErrors(plan, algorithm, telemetry)
    stack.callback(errors.close)
    notice = "the first iteration has begun: steps, episodes and metrics are sent at the end of each"
    log.info("%s%s", notice, plan.iteration)
    try:
        while logger.steps < config.end_step:
            previous_steps = logger.steps
            logger.result(hearing_signals(algorithm.train, meanwhile=errors.look))
            errors.iteration_over(logger.steps - previous_steps)
            if checkpoints.due(logger.steps):
                checkpoints.save(logger.steps)
    except UpstreamFailed:
        raise
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise
        if not _caused_by_signal(error):
            raise errors.own_error(error) from error
    checkpoints.save(logger.steps)
    return logger.final_metrics


def _caused_by_signal(error: BaseException | None) -> bool:
    """Return whether a signal caused the error. If a signal arrives while Ray waits, `Cancelled` becomes the
    cause of Ray's own error, or is replaced by a KeyboardInterrupt."""
    while error is not None and not isinstance(error, (Cancelled, KeyboardInterrupt)):
        error = error.__cause__ or error.__context__
    return error is not None


def _report_remote_frames(plan: RllibPlan, algorithm: Any, stack: ExitStack) -> None:
    """Report why there are no frames if the first runner is on another machine."""
    hosts = algorithm.env_runner_group.foreach_env_runner(
        lambda _: socket.gethostname(), local_env_runner=False
    )
    if hosts and hosts[0] != socket.gethostname():
        frames = stack.enter_context(TrainingFrames.of(plan.config, 1))
        frames.end(f"the environments are on {hosts[0]}, and frames are seen on their own machine only")
