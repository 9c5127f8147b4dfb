"""The measured trainings, each in MOSAIC Lab and by upstream alone, and the speeds of both.

A speed is the number of steps between the first and the last logged update, divided by the time between them,
so neither start-up nor steps before learning begins count on either side.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measuring import children_cpu_seconds

from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.runs import Run
from mosaic_lab.runs.dry_run import dry_run
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.workers import WorkerEnvironment, ensure

TIMEOUT = 1800
HERE = Path(__file__).parent
WORKERS = HERE.parents[1] / "workers"
SMALL_NETWORKS = {"num_channels": 4, "policy_layers": [32], "value_layers": [32]}
_OF_WORKERS = {  # variables that workers set, and no GPU, as for a run that requests none
    "CUDA_VISIBLE_DEVICES": "",
    "NUMBA_DISABLE_JIT": "1",
    "RAY_DEDUP_LOGS": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TQDM_DELAY": "1e9",
    "WANDB_MODE": "disabled",
}
READ_SPEED = """
import sys
from pathlib import Path
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
seen = [(event.wall_time, event.step) for path in Path(sys.argv[1]).rglob("events.out.tfevents*")
        for event in EventFileLoader(str(path)).Load()
        if any(value.tag.startswith("losses/") for value in event.summary.value)]
(began, first), (ended, last) = min(seen), max(seen)
print((last - first) / (ended - began))
"""

Speed = Callable[[WorkerEnvironment, Run], float]
Bare = Callable[[WorkerEnvironment, dict[str, Any], Path], tuple[float, float]]


@dataclass(frozen=True)
class Training:
    """A training of `steps` steps. `speed` returns the speed of a run; `bare` trains by upstream alone with
    the configuration that the worker resolved, in a given folder, and returns its speed and its CPU seconds.
    `offline`: learns from a dataset, which is recorded first.
    """

    worker: str
    algorithm: str
    env_id: str
    steps: int
    speed: Speed
    bare: Bare
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    offline: bool = False

    @property
    def name(self) -> str:
        return f"{self.worker}-{self.algorithm}-{self.env_id}"


def by_telemetry(part: str) -> Speed:
    """Measure from the first to the last metric whose name contains ``part``."""

    def speed(environment: WorkerEnvironment, run: Run) -> float:
        lines = (json.loads(line) for line in (run.path / "telemetry.jsonl").open())
        seen = [
            (line["timestamp"], line["payload"]["step"])
            for line in lines
            if line.get("event") == "metrics" and any(part in name for name in line["payload"]["values"])
        ]
        (began, first), (ended, last) = seen[0], seen[-1]
        return float((last - first) / (ended - began))

    return speed


def by_tensorboard(environment: WorkerEnvironment, run: Run) -> float:
    return steps_per_second(environment, run.path / "tensorboard")


def script(name: str) -> Bare:
    """Train with a script in this folder, whose last line of output is its speed."""

    def bare(environment: WorkerEnvironment, resolved: dict[str, Any], folder: Path) -> tuple[float, float]:
        config = folder / "config.json"
        config.write_text(json.dumps(resolved))
        figures, cpu = _alone(environment, [str(HERE / name), str(config), str(folder)], folder)
        return float(json.loads(figures)), cpu

    return bare


def upstream_command(training: Mapping[str, Any]) -> list[str]:
    """Return the command of CleanRL's script with the arguments that the worker passes to it."""
    worker = ensure("cleanrl")
    config = TrainRequest(worker="cleanrl", **training).config()
    resolved = dry_run(worker.command(), config, compose_variables(os.environ))
    return [str(worker.python), "-m", resolved["upstream"]["script"], *resolved["arguments"]]


def cleanrl(environment: WorkerEnvironment, resolved: dict[str, Any], folder: Path) -> tuple[float, float]:
    """Run upstream's script with the arguments that the worker passes to it."""
    command = ["-m", resolved["upstream"]["script"], *resolved["arguments"]]
    _, cpu = _alone(environment, command, folder)
    return steps_per_second(environment, folder), cpu


def jumanji(environment: WorkerEnvironment, resolved: dict[str, Any], folder: Path) -> tuple[float, float]:
    """Run the script of the worker's tests: SBX's PPO, or upstream's A2C in full epochs of 51,200 steps."""
    algorithm, values = resolved["algorithm"], resolved["hyperparameters"]
    if algorithm == "a2c":
        values = {f"env.network.{name}": values[name] for name in SMALL_NETWORKS}
        values["env.training.num_learner_steps_per_epoch"] = 20
    env = "snake" if algorithm == "a2c" else resolved["env_id"]
    pairs = [f"{name}={value}" for name, value in {"seed": resolved["seed"], **values}.items()]
    bare = WORKERS / "jumanji_worker" / "tests" / "upstream_trains.py"
    command = [str(bare), algorithm, env, str(resolved["total_timesteps"]), *pairs]
    line, cpu = _alone(environment, command, folder)
    report = json.loads(line)
    return float(report["steps"] / report["seconds"]), cpu


def _alone(environment: WorkerEnvironment, arguments: list[str], folder: Path) -> tuple[str, float]:
    """Run the interpreter with these arguments; return its last line of output and its CPU seconds."""
    before = children_cpu_seconds()
    done = subprocess.run(
        [str(environment.python), *arguments],
        cwd=folder,
        env=compose_variables(os.environ, env_vars=_OF_WORKERS),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    return (done.stdout.splitlines() or [""])[-1], children_cpu_seconds() - before


def steps_per_second(environment: WorkerEnvironment, folder: Path) -> float:
    """Return the speed from the losses in the TensorBoard files below ``folder``."""
    command = [str(environment.python), "-c", READ_SPEED, str(folder)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


_TIANSHOU, _XUANCE, _RLLIB = map(script, ("bare_tianshou.py", "bare_xuance.py", "bare_rllib.py"))
_IN_PROCESS = {"num_env_runners": 0}  # environments in the main process, RLlib's default for DQN
_TEAM = _IN_PROCESS | {"train_batch_size_per_learner": 1000}  # about one update per second

TRAININGS = [
    Training("cleanrl", "ppo", "CartPole-v1", 100_000, by_tensorboard, cleanrl),
    Training("cleanrl", "dqn", "CartPole-v1", 15_000, by_tensorboard, cleanrl, {"learning_starts": 1000}),
    Training("cleanrl", "sac", "Pendulum-v1", 6_000, by_tensorboard, cleanrl, {"learning_starts": 1000}),
    Training("tianshou", "ppo", "CartPole-v1", 50_000, by_telemetry("training/"), _TIANSHOU),
    Training("tianshou", "dqn", "CartPole-v1", 20_000, by_telemetry("training/"), _TIANSHOU),
    Training("tianshou", "sac", "Pendulum-v1", 20_000, by_telemetry("training/"), _TIANSHOU),
    Training(
        "tianshou", "discrete_bcq", "CartPole-v1", 6_000, by_telemetry("update/"), _TIANSHOU, offline=True
    ),
    Training("xuance", "ppo", "CartPole-v1", 100_000, by_telemetry("loss"), _XUANCE),
    Training("xuance", "dqn", "CartPole-v1", 50_000, by_telemetry("loss"), _XUANCE),
    Training("xuance", "mappo", "simple_spread_v3", 16_000, by_telemetry("loss"), _XUANCE),
    Training("xuance", "qmix", "simple_spread_v3", 40_000, by_telemetry("loss"), _XUANCE),
    Training("xuance", "maddpg", "simple_spread_v3", 40_000, by_telemetry("loss"), _XUANCE),
    Training("rllib", "ppo", "CartPole-v1", 16_000, by_telemetry("learners/"), _RLLIB, _IN_PROCESS),
    Training("rllib", "ppo", "simple_spread_v3", 4_000, by_telemetry("learners/"), _RLLIB, _TEAM),
    Training("rllib", "dqn", "CartPole-v1", 3_000, by_telemetry("learners/"), _RLLIB),
    Training("rllib", "impala", "CartPole-v1", 40_000, by_telemetry("learners/"), _RLLIB),
    Training("jumanji", "a2c", "Snake-v1", 512_000, by_telemetry("total_loss"), jumanji, SMALL_NETWORKS),
    Training("jumanji", "ppo", "Snake-v1", 61_440, by_telemetry("train/"), jumanji, {"n_steps": 128}),
]
