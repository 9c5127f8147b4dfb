"""That libraries learn under us: with a stated seed their PPO (Jumanji: A2C) reaches a stated return.

`pytest tests/learning -s` takes minutes. Nothing here is timed; a worker's environment is installed first if
it is missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mosaic_lab import Lab
from mosaic_lab.supervisor import Run

LAST = 20  # episodes, of which the mean is taken
SMALL = {"num_channels": 4, "policy_layers": [32], "value_layers": [32], "learning_rate": 2e-3}
CASES: dict[str, tuple[str, str, int, dict[str, Any], float]] = {
    # worker: algorithm, environment, steps, hyperparameters, and the mean return that is reached with seed 1
    "cleanrl": ("ppo", "CartPole-v1", 50_000, {}, 200),
    "tianshou": ("ppo", "CartPole-v1", 50_000, {}, 400),
    "xuance": ("ppo", "CartPole-v1", 30_000, {}, 400),
    "rllib": ("ppo", "CartPole-v1", 20_000, {"num_env_runners": 0}, 150),
    "jumanji": ("a2c", "Snake-v1", 1_000_000, SMALL, 9),
}


@pytest.mark.parametrize("worker", CASES)
@pytest.mark.timeout(3600)
def test_the_return_is_reached(worker: str, tmp_path: Path) -> None:
    algorithm, env, steps, hyperparameters, wanted = CASES[worker]
    run = Lab(tmp_path).train(
        worker, algorithm=algorithm, env=env, seed=1, total_timesteps=steps, **hyperparameters
    )
    assert isinstance(run, Run)
    run.wait()
    assert run.state == "completed", run.reason
    returns = run.episodes()["total_reward"]
    first, last = returns.head(LAST).mean(), returns.tail(LAST).mean()
    seconds = run.outcome.cpu_seconds if run.outcome else None
    print(f"\n{worker} {algorithm} on {env}: {first:.1f} to {last:.1f} in {steps:,} steps, {seconds} CPU s")
    assert last >= wanted
