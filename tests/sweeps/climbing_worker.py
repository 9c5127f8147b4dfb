"""A worker whose trainings resume from checkpoints: built for real in a second, it climbs at a rate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from worker_fixtures import home_with, write_shim

_METADATA = """
from mosaic_contract import describe_worker

def get_worker_metadata():
    bound = {"climb": {"start": "it is where the climb has begun"}, "jump": {"*": "a jump has no middle"}}
    return describe_worker(
        "climber", "somebody-climber-worker", algorithms=["climb", "jump", "walk"], resume_bound=bound
    )
"""

_CLI = """
import json
import os
import sys
import time
from mosaic_contract import ConfigError
from mosaic_contract import Worker, main
from mosaic_contract.codec import write_whole
from mosaic_contract.hyperparameters import Parameter, check_hyperparameters
from climber_worker import get_worker_metadata

KNOWN = {
    "rate": Parameter("rate", float, 0.5, "height of a step"),
    "start": Parameter("start", float, 0.0, "height of the first"),
    "spread": Parameter("spread", float, 0.0, "by what seeds begin higher, times their cube"),
    "stride": Parameter("stride", int, 1, "it climbs whole strides of so many steps"),
    "boots": Parameter("boots", str, "worn", "what is worn", ("worn", "good", "new")),
}
BOOTS = {"worn": 0.0, "good": 0.1, "new": 0.2}

def last_step(config, values):
    return config.end_step // values["stride"] * values["stride"]

def resolve(config):
    values = check_hyperparameters(config.hyperparameters, KNOWN)
    return {**config.to_dict(values), "steps": last_step(config, values)}

def train(config, telemetry):
    values, source = config.hyperparameters, config.checkpoint.resume_from
    step, height = 0, values["start"] + values["spread"] * config.seed**3
    slow = os.environ.get("SLOW_ARE") == ("low" if values["rate"] < 0.55 else "high")
    if source is not None:
        with open(source) as file:
            step, height = json.load(file)
        telemetry.checkpoint_loaded(source, step=step, episode=0, format="json")
    if values["rate"] > 100:
        raise RuntimeError("too steep")
    try:
        while step < last_step(config, values):
            step, height = step + 1, height + values["rate"] + BOOTS[values["boots"]]
            telemetry.metrics(step, {"height": height})
            time.sleep(0.02 if slow else 0.001)
        if os.environ.get("LINGERS"):
            time.sleep(60)
    finally:  # when it is stopped, too
        path = config.checkpoints_dir / f"step-{step}.hill"
        path.parent.mkdir(exist_ok=True)
        write_whole(path, json.dumps([step, height]).encode())
        telemetry.checkpoint_saved(path, step=step, format="json")
    return {"height": height}

if __name__ == "__main__":
    sys.exit(main(Worker(get_worker_metadata, resolve, train, lambda: dict.fromkeys(
        ("climb", "jump", "walk"), list(KNOWN.values())
    ))))
"""


@pytest.fixture(scope="module")
def climber(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The worker "climber", installed: "climb" is trained in segments, the two other algorithms are not."""
    shim = write_shim(tmp_path_factory.mktemp("climber") / "shim", "climber")
    (shim / "climber_worker" / "__init__.py").write_text(_METADATA)
    (shim / "climber_worker" / "cli.py").write_text(_CLI)
    yield from home_with(shim)
