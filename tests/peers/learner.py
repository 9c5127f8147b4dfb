"""A small real worker that "learns" along a plausible curve at a configured speed.

Hyperparameters: ``seconds`` (duration), ``rows`` (number of metric lines), ``malformed`` (number of lines
that are not JSON), ``fail_at`` (fraction of the run at which it raises; never by default), ``error`` (the
error's message), ``after`` and ``until`` (files that must exist before the run begins and ends).
"""

from __future__ import annotations

import math
import os
import random
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_contract import Worker, main
from mosaic_contract.config import TrainingConfig
from mosaic_contract.metadata import WorkerCapabilities, WorkerMetadata
from mosaic_contract.telemetry import Telemetry


def metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    return WorkerMetadata(name="learner", version="1"), WorkerCapabilities()


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    settings = config.hyperparameters
    seconds, rows = float(settings.get("seconds", 2)), int(settings.get("rows", 200))
    for index in range(int(settings.get("malformed", 0))):
        os.write(telemetry.fileno(), b"this is not JSON, %d\n" % index)
    while "after" in settings and not Path(settings["after"]).exists():
        time.sleep(0.02)  # polls for a file that the test creates
    dice = random.Random(f"{config.algorithm} {config.seed}")
    turn = 0.45 + dice.uniform(-0.12, 0.12)
    begun = time.monotonic()
    for row in range(1, rows + 1):
        done = row / rows
        if done > float(settings.get("fail_at", 2)):
            raise RuntimeError(settings.get("error", "the reward became negative infinity"))
        step = int(done * config.total_timesteps)
        reached = 500 / (1 + math.exp(-9 * (done - turn))) * dice.uniform(0.72, 1.08)
        telemetry.episode(total_reward=min(500.0, 12 + reached), steps=int(12 + reached), step=step)
        telemetry.metrics(step, values(done, step, 12 + reached, dice, time.monotonic() - begun))
        if row % max(2, rows // 40) == 1:
            print(f"update {row}/{rows} step={step} return={12 + reached:.1f}", file=sys.stderr, flush=True)
        # The configured speed; no test waits for it.
        time.sleep(max(0.0, begun + seconds * done - time.monotonic()))
    while "until" in settings and not Path(settings["until"]).exists():
        time.sleep(0.02)  # likewise
    return {"episode_return": 12 + reached}


def values(done: float, step: int, reached: float, dice: random.Random, seconds: float) -> dict[str, float]:
    return {
        "episode_return": min(500.0, reached),
        "charts/learning_rate": 3e-4 * (1 - done),
        "charts/SPS": step / max(seconds, 1e-3),
        "losses/value_loss": 40 * math.exp(-4 * done) * dice.uniform(0.6, 1.4),
        "losses/policy_loss": -0.02 * math.exp(-2 * done) * dice.uniform(0.2, 1.8),
        "losses/entropy": 0.69 * (1 - 0.8 * done) * dice.uniform(0.95, 1.05),
    }


if __name__ == "__main__":
    sys.exit(main(Worker(metadata, lambda config: config.to_dict(), train)))
