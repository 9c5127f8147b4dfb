"""The plan of a training from a run's configuration, checked before anything trains."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from mosaic_contract import ConfigError, TrainingConfig, check_hyperparameters
from mosaic_contract.hyperparameters import not_widths
from mosaic_contract.training_plan import TrainingPlan, check_algorithm, resumed, start_problems

from .environments import TRAINED, bare
from .hyperparameters import bound, parameters_of

ALGORITHMS = ("a2c", "ppo")
FORMAT = "mosaic-jumanji/1"

_LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True)
class JumanjiPlan(TrainingPlan):
    """Everything that is decided about a training."""

    @property
    def count(self) -> int:
        """Environments that are stepped together."""
        values = self.hyperparameters
        return int(values["total_batch_size" if "total_batch_size" in values else "n_envs"])

    @property
    def per_update(self) -> int:
        """Steps of all environments that an update takes."""
        return self.count * int(self.hyperparameters["n_steps"])

    @property
    def steps(self) -> int:
        """The step at which the training ends: after the whole updates that fit into `total_timesteps`."""
        return self.start_step + (self.config.end_step - self.start_step) // self.per_update * self.per_update


def resolve(config: TrainingConfig) -> dict[str, Any]:
    """Return the resolved configuration. Raises `ConfigError` with everything that is wrong."""
    plan = make_plan(config)
    return plan.resolved(steps=plan.steps)


def make_plan(config: TrainingConfig) -> JumanjiPlan:
    """Decide everything about a training. Raises `ConfigError`."""
    check_algorithm(config.algorithm, ALGORITHMS)
    if bare(config.env_id) not in TRAINED:
        raise ConfigError(
            f"{config.env_id} can be compared and evaluated on here, not trained on; "
            f"{config.algorithm} trains on {', '.join(TRAINED)}"
        )
    known = parameters_of(config.algorithm, config.env_id)
    resume_from, given = resumed(config, FORMAT, ALGORITHMS)
    problems = start_problems(config, resume_from, bound(known), _LARGEST_SEED)
    hyperparameters = check_hyperparameters(given, known, problems)
    if wrong := [*not_widths(hyperparameters)]:
        raise ConfigError(wrong)
    plan = JumanjiPlan(config, hyperparameters, resume_from)
    if plan.steps == plan.start_step:
        raise ConfigError(
            f"{config.end_field} ends before the first update, which takes n_steps="
            f"{hyperparameters['n_steps']} steps of {plan.count} environments: raise it or lower these"
        )
    return plan


def module_of(algorithm: str) -> Any:
    """The module of an algorithm: with what it learns by and what acts for it. Imports its upstream alone."""
    return importlib.import_module(f".{algorithm}", __package__)
