"""Errors of the processes that step environments, reported to the training.

Upstream logs such an error, restarts the runner and continues, forever if every runner fails. Here a training
ends with the environment's own error once an iteration has no samples from any runner.
"""

from __future__ import annotations

import json
import logging
import time
from typing import Any

from mosaic_contract import Telemetry, UpstreamFailed
from mosaic_contract.errors import one_line, traceback_of, type_of
from ray.exceptions import RayError
from ray.experimental import internal_kv

from .config import RllibPlan
from .runners import error_key

_LOGGER = "ray.rllib.utils.actor_manager"  # logs the end of each runner
_PAUSE_SECONDS = 1.0  # between iterations without any runner
_LOCAL_SECONDS, _CLUSTER_SECONDS = 120.0, 600.0  # without a runner: a new process, or a new node


class RunnerErrors(logging.Handler):
    """The monitor of the runners of one training. Close it at the end."""

    def __init__(self, plan: RllibPlan, algorithm: Any, telemetry: Telemetry) -> None:
        super().__init__()
        self._keys = [error_key(plan.config.run_id, index + 1) for index in range(plan.runners)]
        self._telemetry = telemetry
        self._healthy = algorithm.env_runner_group.num_healthy_remote_workers
        self._patience = _CLUSTER_SECONDS if plan.address else _LOCAL_SECONDS
        self._ends: list[RayError] = []
        self._sampled = time.monotonic()
        self._any_samples = False
        logging.getLogger(_LOGGER).addHandler(self)

    def close(self) -> None:
        logging.getLogger(_LOGGER).removeHandler(self)
        super().close()

    def emit(self, record: logging.LogRecord) -> None:
        if isinstance(record.msg, RayError):
            self._ends.append(record.msg)

    def look(self) -> None:
        """Check the runners during an iteration. Raises `UpstreamFailed` if all have failed before any
        sample: upstream waits for a minute before it restarts them."""
        reported = [] if self._any_samples else [self._reported(key) for key in self._keys]
        if reported and all(reported):
            raise reported[0]  # type: ignore[misc]

    def iteration_over(self, steps: int) -> None:
        """Check the runners after an iteration of `steps` steps. Raises `UpstreamFailed` if none samples."""
        reported = [self._reported(key) for key in self._keys]
        if steps or not self._keys:
            for key, error in zip(self._keys, reported):
                if error is not None:
                    internal_kv._internal_kv_del(key)
            self._ends.clear()
            self._sampled, self._any_samples = time.monotonic(), True
        elif all(reported):
            raise reported[0]  # type: ignore[misc]
        elif len(self._ends) > len(self._keys):
            reason = f"the processes of the runners end {self._telemetry.reached}: {one_line(self._ends[-1])}"
            raise UpstreamFailed(reason, "RunnersLost")
        elif not self._healthy():
            if time.monotonic() - self._sampled > self._patience:
                raise UpstreamFailed(f"no runner has sampled for {self._patience:g} s", "RunnersLost")
            time.sleep(_PAUSE_SECONDS)

    def own_error(self, error: BaseException) -> UpstreamFailed:
        """Return the environment's error that caused the failure of upstream's iteration."""
        for key in self._keys:
            if (reported := self._reported(key)) is not None:
                return reported
        while error.__cause__ is not None:
            error = error.__cause__
        return UpstreamFailed(str(error), type_of(error), traceback_of(error))

    def _reported(self, key: str) -> UpstreamFailed | None:
        report = internal_kv._internal_kv_get(key)
        if report is None:
            return None
        error_type, message, location, trace = json.loads(report)
        if location:
            message = f"{message} {self._telemetry.reached}{location}"
        return UpstreamFailed(message, error_type, trace)
