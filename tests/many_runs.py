"""Run stores with many runs: the folders of finished runs, written without training.

For tests and benchmarks of views of hundreds of runs; other tests check the files of real runs.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_lab.keeper.processes import place
from mosaic_lab.keeper.run_store import RunFolder, RunStore, write_json
from mosaic_lab.keeper.states import Outcome, RunStatus, State, Transition

REASONS = {
    State.COMPLETED: "ran to the end",
    State.FAILED: "exited with code 1: ValueError: the loss is not finite",
    State.CANCELLED: "stopped by SIGTERM as requested",
}
LINE_SECONDS = 0.05
"""Seconds between two metric lines, on the run's own clock."""


class Configuration(NamedTuple):
    """The configuration of one group of runs, and the return that they reach."""

    worker: str
    algorithm: str
    env: str
    learning_rate: float
    batch_size: int
    reach: float


def configurations() -> list[Configuration]:
    """Return the configurations of a store's runs; each is repeated with several seeds."""
    return [
        Configuration(worker, algorithm, env, rate, size, reach * (1.2 - abs(3.5 + logarithm) / 4))
        for worker, algorithm, size in (
            ("cleanrl", "ppo", 64),
            ("tianshou", "dqn", 128),
            ("rllib", "appo", 256),
        )
        for env, reach in (("CartPole-v1", 450.0), ("Acrobot-v1", -90.0), ("LunarLander-v3", 220.0))
        for logarithm, rate in ((-4.0, 1e-4), (-3.5, 3e-4), (-3.0, 1e-3))
    ]


def write_runs(root: Path, count: int, points: int = 100, seed: int = 0) -> list[Path]:
    """Write ``count`` finished runs into the store at ``root``, oldest first, and return their folders.

    Each run has ``points`` lines of the metrics "episode_return" and "losses/value_loss". Five seeds of a
    configuration form a group; of every twenty runs, one failed and one was cancelled, both half-way.
    """
    generator, store, found = random.Random(seed), RunStore(root), configurations()
    first = time.time() - 60.0 * count
    return [
        _write_run(store, number, found[number // 5 % len(found)], first + 60.0 * number, points, generator)
        for number in range(count)
    ]


def _write_run(
    store: RunStore, number: int, what: Configuration, begun: float, points: int, generator: random.Random
) -> Path:
    state = {7: State.FAILED, 13: State.CANCELLED}.get(number % 20, State.COMPLETED)
    lines = points if state is State.COMPLETED else max(1, points // 2)
    stamp, own_seed = time.strftime("%Y%m%d-%H%M%S", time.gmtime(begun)), number % 5
    letters = "".join(generator.choices("abcdefghjkmnpqrstuvwxyz23456789", k=4))
    name = f"{stamp}-{what.worker}-{what.algorithm}-{what.env}-s{own_seed}-{letters}"
    folder, lock = store.create(name)
    os.close(lock)
    hyperparameters = {"learning_rate": what.learning_rate, "batch_size": what.batch_size}
    common = {
        "algorithm": what.algorithm,
        "env_id": what.env,
        "total_timesteps": points * 100,
        "seed": own_seed,
    }
    ended = begun + 1.0 + lines * LINE_SECONDS
    label = f"{what.worker} {what.algorithm} {what.env} seed {own_seed}"
    write_json(
        folder.config_path,
        {**common, "hyperparameters": hyperparameters, "run_id": name, "run_dir": str(folder.path)},
    )
    write_json(
        folder.launch_path,
        {
            "worker": what.worker,
            "label": label,
            "group": f"{what.worker}-{what.algorithm}-{what.env}-{number // 5:04}",
            "hyperparameters": {**hyperparameters, "gamma": 0.99},
            "created": begun,
        },
    )
    write_json(folder.provenance_path, {"mosaic_lab": "0.1.0", "platform": "Linux", "git": None})
    write_json(folder.state_path, _status(state, begun, ended).to_dict())
    folder.lock_path.touch()
    folder.log_path.write_text(f"training {label}\n")
    with folder.telemetry_path.open("w", encoding="utf-8") as file:
        file.writelines(_telemetry(folder, what, begun, lines, common, generator))
    return folder.path


def _status(state: State, begun: float, ended: float) -> RunStatus:
    history = (
        Transition(State.QUEUED, "its keeper has just started", begun),
        Transition(State.STARTING, "worker process 1 was started", begun),
        Transition(State.RUNNING, "the worker reports", begun + 0.5),
        Transition(state, REASONS[state], ended),
    )
    outcome = Outcome(
        exit_code={State.FAILED: 1}.get(state, 0), cpu_seconds=ended - begun, duration_seconds=ended - begun
    )
    return RunStatus(state, REASONS[state], ended, history, outcome=outcome, place=place())


def _telemetry(
    folder: RunFolder,
    what: Configuration,
    begun: float,
    lines: int,
    config: dict[str, Any],
    generator: random.Random,
) -> Iterator[str]:
    """Yield the lines of a run: a noisy learning curve on the run's own clock."""
    start = -500.0 if what.env == "Acrobot-v1" else 20.0
    speed, noise = 3.0 + 2.0 * generator.random(), 0.1 * abs(what.reach - start)
    yield _line(folder, begun, event="run_started", payload={"config": config, "protocol": 1})
    for number in range(lines):
        learnt = 1.0 - 2.0 ** (-speed * number / lines)
        reward = start + (what.reach - start) * learnt + generator.gauss(0.0, noise)
        values = {"episode_return": round(reward, 2), "losses/value_loss": round(10 * (1 - learnt) + 0.1, 4)}
        at = begun + 1.0 + number * LINE_SECONDS
        episode = {"episode_index": number, "total_reward": round(reward, 2), "steps": 100}
        yield _line(folder, at, type="episode", **episode, terminated=True, truncated=False)
        yield _line(folder, at, event="metrics", payload={"step": (number + 1) * 100, "values": values})


def _line(folder: RunFolder, timestamp: float, **message: Any) -> str:
    return json.dumps({"run_id": folder.run_id, "timestamp": timestamp, **message}) + "\n"
