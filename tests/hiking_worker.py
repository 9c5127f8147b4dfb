"""A worker with resumable trainings: it is built in a second, and its skill grows at a set rate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from worker_fixtures import home_with, write_shim

import mosaic_lab as mosaic

HILL, PEAK = mosaic.Stage("Hill-v0", steps=100), mosaic.Stage("Peak-v0", steps=100)

_METADATA = """
from mosaic_contract import describe_worker

def get_worker_metadata():
    begun = {name: {"start": f"it is where the {name} has begun"} for name in ("hike", "climb")}
    return describe_worker(
        "hiker", "somebody-hiker-worker", algorithms=["hike", "climb", "jump", "roll"],
        resume_elsewhere=["hike"], resume_bound={**begun, "jump": {"*": "a jump has no middle"}},
    )
"""

_CLI = """
import io
import json
import os
import sys
import time
import zipfile
from mosaic_contract import ConfigError
from mosaic_contract import Worker, main
from mosaic_contract.codec import write_whole
from mosaic_contract.hyperparameters import Parameter, check_hyperparameters
from hiker_worker import get_worker_metadata

KNOWN = {
    "rate": Parameter("rate", float, 0.5, "skill that a step adds"),
    "start": Parameter("start", float, 0.0, "skill at first"),
    "spread": Parameter("spread", float, 0.0, "added to the skill at first, times the cube of the seed"),
    "boots": Parameter("boots", str, "worn", "what is worn", ("worn", "good", "new")),
    "seconds": Parameter("seconds", float, 0.001, "of a step"),
    "imports": Parameter("imports", float, 0.0, "seconds before the training begins"),
    "device": Parameter("device", str, "auto", "where the networks would be"),
    "stride": Parameter("stride", int, 1, "steps of an update, of which only whole ones are trained"),
}
BOOTS = {"worn": 0.0, "good": 0.1, "new": 0.2}
DIFFICULTY = {"Hill-v0": 0.0, "Peak-v0": 50.0, "Cave-v0": 0.0, "Cliff-v0": 0.0}
EPISODE = 5  # steps
EVERY = {"hike": 20}  # steps from one checkpoint to the next; the others save one at their end
SHORTEST = 5  # steps of a training

def resolve(config):
    if config.env_id not in DIFFICULTY:
        raise ConfigError(f"unknown environment {config.env_id!r}")
    if config.end_step < SHORTEST:
        raise ConfigError(f"{config.end_field} ends before the first update, at step {SHORTEST}")
    numbers = 3 if config.env_id == "Cave-v0" else 2
    spaces = {"observation_space": {"type": "Box", "shape": [numbers], "low": 0.0, "high": 1.0},
              "action_space": {"type": "Discrete", "n": 2}}
    values = check_hyperparameters(config.hyperparameters, KNOWN)
    return {**config.to_dict(values), **spaces, "steps": last_step(config.end_step, values)}

def last_step(end, values):
    return end // values["stride"] * values["stride"]

def train(config, telemetry):
    values, source = config.hyperparameters, config.checkpoint.resume_from
    end = last_step(config.end_step, values)
    time.sleep(values["imports"])  # as a library does while it is imported, with heartbeats at step 0
    step, skill, episodes = 0, values["start"] + values["spread"] * config.seed**3, 0
    slow = os.environ.get("SLOW_ARE") == ("low" if values["rate"] < 0.55 else "high")
    pause, every = 0.02 if slow else values["seconds"], EVERY.get(config.algorithm, 1)
    if source is not None:
        with zipfile.ZipFile(source) as archive:
            step, skill, episodes = json.loads(archive.read("state.json"))
        telemetry.checkpoint_loaded(source, step=step, episode=episodes, format="json")
    if values["rate"] > 100:
        raise RuntimeError("too steep")
    telemetry.episodes = episodes
    saved = step

    def save():
        path = config.checkpoints_dir / f"step-{saved}.npz"
        path.parent.mkdir(exist_ok=True)
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as parts:
            parts.writestr("state.json", json.dumps(state))
        write_whole(path, archive.getvalue())
        telemetry.checkpoint_saved(path, step=saved, format="json")

    state = [step, skill, episodes]
    try:
        while step < end:
            step, skill = step + 1, skill + values["rate"] + BOOTS[values["boots"]]
            telemetry.metrics(step, {"skill": skill, "rate": values["rate"]})
            if step % EPISODE == 0:
                gained = skill - DIFFICULTY[config.env_id]
                telemetry.episode(total_reward=gained, steps=EPISODE, terminated=True, step=step)
                telemetry.metrics(step, {"episode_return": gained})
            if config.env_id == "Cliff-v0":
                raise RuntimeError("fell off")
            if step % every == 0 or step == end:
                saved, state = step, [step, skill, telemetry.episodes]
                if every > 1:
                    save()
            time.sleep(pause)  # a training takes time, so that tests can stop it or watch it
        if os.environ.get("LINGERS"):
            time.sleep(60)  # an end that hangs; tests end it earlier
    finally:  # when it is stopped, too
        save()

if __name__ == "__main__":
    sys.exit(main(Worker(get_worker_metadata, resolve, train, lambda: dict.fromkeys(
        ("hike", "climb", "jump", "roll"), list(KNOWN.values())
    ))))
"""


@pytest.fixture(scope="module")
def hiker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The installed worker "hiker": "hike" resumes in any environment with the same spaces, "climb" only in
    its own, with other hyperparameters, "jump" only with the same hyperparameters, "roll" not at all."""
    yield from home_with("hiker", _write, tmp_path_factory)


def _write(folder: Path) -> Path:
    shim = write_shim(folder, "hiker")
    (shim / "hiker_worker" / "__init__.py").write_text(_METADATA)
    (shim / "hiker_worker" / "cli.py").write_text(_CLI)
    return shim
