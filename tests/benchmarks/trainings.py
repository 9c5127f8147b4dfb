"""The trainings that are measured, each under us and by upstream alone, and how fast either was.

Speeds are steps between the first and the last thing that was logged over the time between them, so neither
side's start-up counts.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_lab.environments import Environment
from mosaic_lab.supervisor import Run

TIMEOUT = 1800
HERE = Path(__file__).parent
WORKERS = HERE.parents[1] / "workers"
SMALL_NETWORKS = {"num_channels": 4, "policy_layers": [32], "value_layers": [32]}
_ALONE = {  # what workers set for themselves
    "OMP_NUM_THREADS": "1",
    "SDL_VIDEODRIVER": "dummy",
    "NUMBA_DISABLE_JIT": "1",
    "TQDM_DELAY": "1e9",
    "WANDB_MODE": "disabled",
    "MPLBACKEND": "Agg",
}
READ_SPEED = """
import sys
from pathlib import Path
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
seen = [(event.wall_time, event.step) for path in Path(sys.argv[1]).rglob("events.out.tfevents*")
        for event in EventFileLoader(str(path)).Load() if event.summary.value and event.step > 0]
(began, first), (ended, last) = min(seen), max(seen)
print((last - first) / (ended - began))
"""

Speed = Callable[[Environment, Run], float]
Bare = Callable[[Environment, dict[str, Any], Path], float]


@dataclass(frozen=True)
class Training:
    """A training of so many `steps`. `speed` is that of a run, `bare` trains by upstream alone with the
    configuration that the worker resolved, in a folder of its own, and returns the speed of that.
    """

    worker: str
    algorithm: str
    env_id: str
    steps: int
    speed: Speed
    bare: Bare
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.worker}-{self.algorithm}"


def by_telemetry(prefix: str = "") -> Speed:
    """From the first to the last metric of these names."""

    def speed(environment: Environment, run: Run) -> float:
        lines = (json.loads(line) for line in (run.path / "telemetry.jsonl").open())
        seen = [
            (line["timestamp"], line["payload"]["step"])
            for line in lines
            if line.get("event") == "metrics"
            and any(name.startswith(prefix) for name in line["payload"]["values"])
        ]
        (began, first), (ended, last) = seen[0], seen[-1]
        return float((last - first) / (ended - began))

    return speed


def by_tensorboard(environment: Environment, run: Run) -> float:
    return steps_per_second(environment, run.path / "tensorboard")


def script(name: str) -> Bare:
    """A script beside this file, which prints its speed last."""

    def bare(environment: Environment, resolved: dict[str, Any], folder: Path) -> float:
        config = folder / "config.json"
        config.write_text(json.dumps(resolved))
        output = _alone(environment, [str(HERE / name), str(config), str(folder)], folder)
        return float(json.loads(output.splitlines()[-1]))

    return bare


def cleanrl(environment: Environment, resolved: dict[str, Any], folder: Path) -> float:
    """Upstream's script with the command line that the worker gives to it."""
    _alone(environment, ["-m", f"cleanrl.{resolved['algorithm']}", *resolved["arguments"]], folder)
    return steps_per_second(environment, folder)


def jumanji(environment: Environment, resolved: dict[str, Any], folder: Path) -> float:
    """Upstream's A2C on Snake, as the worker's own tests run it: whole epochs, here of 51,200 steps."""
    overrides = [f"env.network.{name}={value}" for name, value in SMALL_NETWORKS.items()]
    overrides.append("env.training.num_learner_steps_per_epoch=20")
    steps = str(resolved["total_timesteps"])
    return _loop(environment, folder, "jumanji_worker", ["a2c", "snake", steps, *overrides])


def rllib(environment: Environment, resolved: dict[str, Any], folder: Path) -> float:
    """Upstream's PPO on CartPole, as the worker's own tests run it."""
    return _loop(environment, folder, "ray_worker", [str(resolved["total_timesteps"])])


def _loop(environment: Environment, folder: Path, worker: str, arguments: list[str]) -> float:
    """The speed of the training loop alone, which a worker's script of this kind prints."""
    bare = WORKERS / worker / "tests" / "bare.py"
    told = json.loads(_alone(environment, [str(bare), *arguments], folder).splitlines()[-1])
    return float(told["steps"] / told["seconds"])


def _alone(environment: Environment, arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [str(environment.python), *arguments],
        cwd=folder,
        env={**os.environ, **_ALONE},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def steps_per_second(environment: Environment, folder: Path) -> float:
    """By the TensorBoard files below ``folder``."""
    command = [str(environment.python), "-c", READ_SPEED, str(folder)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


TRAININGS = [
    Training("cleanrl", "ppo", "CartPole-v1", 100_000, by_tensorboard, cleanrl),
    Training("tianshou", "ppo", "CartPole-v1", 50_000, by_telemetry("training/"), script("bare_tianshou.py")),
    Training("tianshou", "dqn", "CartPole-v1", 20_000, by_telemetry("training/"), script("bare_tianshou.py")),
    Training("xuance", "ppo", "CartPole-v1", 20_000, by_telemetry(), script("bare_xuance.py")),
    Training("xuance", "mappo", "simple_spread_v3", 16_000, by_telemetry(), script("bare_xuance.py")),
    Training("rllib", "ppo", "CartPole-v1", 40_000, by_telemetry("learners/"), rllib, {"num_env_runners": 0}),
    Training("jumanji", "a2c", "Snake-v1", 512_000, by_telemetry("total_loss"), jumanji, SMALL_NETWORKS),
]
