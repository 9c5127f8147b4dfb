"""A sweep without trainings: a process that records random trials, one per second, as a sweep would.

The command of a run of the worker "sweep": ``python -m sweeps.stored --config <run>/config.json``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from mosaic_lab import search
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.runs.training_plan import TrainingPlan
from mosaic_lab.sweeps import Sweep
from mosaic_lab.sweeps.decisions import REPORTS
from mosaic_lab.sweeps.plan import SweepPlan
from mosaic_lab.sweeps.request import SweepRequest
from mosaic_lab.sweeps.space import Space, to_json
from mosaic_lab.sweeps.sweep import WORKER
from mosaic_lab.sweeps.trials import Proposal, TrialState, TrialWriter

STEPS = 50_000
TRAINED = 49_152
"""Steps of a completed trial: whole updates only."""
SPACE = Space(
    {
        "learning_rate": search.loguniform(1e-5, 1e-2),
        "ent_coef": search.uniform(0.0, 0.1),
        "gamma": search.uniform(0.9, 0.999),
        "num_steps": search.choice([64, 128, 256]),
        "activation_function": search.choice(["tanh", "relu", "leaky_relu"]),
    }
)


def plan(trials: int) -> SweepPlan:
    """Return the plan of a sweep of ``trials`` trials over five hyperparameters."""
    config = {"total_timesteps": STEPS, "algorithm": "ppo", "env_id": "CartPole-v1"}
    training = TrainingPlan(TrainRequest(worker="cleanrl"), [], config)
    request = SweepRequest(
        training=training.request, search=SPACE, trials=trials, seeds=(1, 2, 3), sampler="random", parallel=4
    )
    return SweepPlan(request, training, SPACE, resumable=True)


def start(root: Path, trials: int, recorded: int) -> Sweep:
    """Start the process as a run: it records ``recorded`` trials at once, the others one per second."""
    config = {**plan(trials).to_config(), "pass_env_vars": [], "recorded": recorded}
    env_vars = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "sweeps.stored"]
    run = Supervisor(root).start(command, config, worker=WORKER, label="sweep", env_vars=env_vars)
    return Sweep(run.folder)


class _Drawn:
    """Suggests random values of each distribution."""

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator

    def suggest(self, name: str, distribution: Any) -> Any:
        if hasattr(distribution, "values"):
            return self._generator.choice(distribution.values)
        if distribution.log:
            return math.exp(self._generator.uniform(math.log(distribution.low), math.log(distribution.high)))
        return self._generator.uniform(distribution.low, distribution.high)


def record(log: TrialWriter, generator: random.Random) -> None:
    """Record a trial from its proposal to its end: most are pruned at a ninth or a third of the steps."""
    number = len(log.trials)
    values = SPACE.sample(_Drawn(generator))
    distributions = {name: to_json(one) for name, one in SPACE.parameters.items()}
    runs = {seed: f"20261001-120000-cleanrl-ppo-CartPole-v1-s{seed}-{number:04x}" for seed in (1, 2, 3)}
    trial = log.propose(Proposal(values, values, distributions), runs)
    skill = 500 * math.exp(-((math.log10(values["learning_rate"]) + 3) ** 2)) * generator.uniform(0.8, 1.0)
    last = generator.choice([REPORTS // 9, REPORTS // 3, REPORTS // 3, REPORTS - 1])
    for place in range(1, last + 1):
        pruned = place == last < REPORTS - 1
        log.report(trial, STEPS * place // REPORTS, skill * place / REPORTS, {}, pruned)
    reached = trial.reports[max(trial.reports)] if trial.pruned else skill
    seeds = {seed: reached * generator.uniform(0.9, 1.1) for seed in (1, 2, 3)}
    state = TrialState.PRUNED if trial.pruned else TrialState.COMPLETED
    log.end(trial, state, "", reached, seeds, max(trial.reports) if trial.pruned else TRAINED)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, required=True)
    path = parser.parse_args().config
    config = json.loads(path.read_bytes())
    log, generator = TrialWriter(path.parent), random.Random(0)
    while len(log.trials) < config["trials"]:
        if len(log.trials) >= config["recorded"]:
            time.sleep(1.0)
        record(log, generator)
    time.sleep(3600)


if __name__ == "__main__":
    main()
