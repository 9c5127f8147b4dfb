"""That libraries learn under us: their PPO, with its defaults and a stated seed, reaches a stated return.

`pytest tests/learning -s` takes minutes. Nothing here is timed; a worker's environment is installed first if
it is missing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic_lab import Lab
from mosaic_lab.supervisor import Run

LAST = 20  # episodes, of which the mean is taken
REACHED = {  # worker: algorithm, environment, steps, and the mean return that is reached with seed 1
    "cleanrl": ("ppo", "CartPole-v1", 50_000, 200),
    "tianshou": ("ppo", "CartPole-v1", 50_000, 400),
    "xuance": ("ppo", "CartPole-v1", 30_000, 400),
    "rllib": ("ppo", "CartPole-v1", 20_000, 150),
}


@pytest.mark.parametrize(("worker", "case"), REACHED.items(), ids=REACHED)
@pytest.mark.timeout(3600)
def test_the_return_is_reached(worker: str, case: tuple[str, str, int, float], tmp_path: Path) -> None:
    algorithm, env, steps, wanted = case
    run = Lab(tmp_path).train(worker, algorithm=algorithm, env=env, seed=1, total_timesteps=steps)
    assert isinstance(run, Run)
    run.wait()
    assert run.state == "completed", run.reason
    returns = run.episodes()["total_reward"]
    first, last = returns.head(LAST).mean(), returns.tail(LAST).mean()
    seconds = run.outcome.cpu_seconds if run.outcome else None
    print(f"\n{worker} {algorithm} on {env}: {first:.1f} to {last:.1f} in {steps:,} steps, {seconds} CPU s")
    assert last >= wanted
