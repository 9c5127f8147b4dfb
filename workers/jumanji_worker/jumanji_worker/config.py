"""The plan of a training from a run's configuration, checked before anything trains."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Mapping

from mosaic_contract import ConfigError, TrainingConfig, check_hyperparameters, out_of_range
from mosaic_contract.checkpoints import read_description, resume_misfits
from mosaic_contract.config import nearest

from .environments import TRAINED, bare
from .hyperparameters import parameters_of

ALGORITHMS = ("a2c", "ppo")
FORMAT = "mosaic-jumanji/1"

_LARGEST_SEED = 2**32 - 1
_TO_ONE = {"gamma", "gae_lambda", "discount_factor", "bootstrapping_factor"}
_ABOVE_ZERO = {"learning_rate", "clip_range", "max_grad_norm", "target_kl"}
_FROM = {"batch_size": 2}  # advantages are normalized over it
_NOT_BUILT_BY = {  # a checkpoint goes on with others of these
    "n_steps", "normalize_advantage", "discount_factor", "bootstrapping_factor", "l_pg", "l_td", "l_en",
    "learning_rate", "batch_size", "n_epochs", "gamma", "gae_lambda", "clip_range", "ent_coef", "vf_coef",
    "max_grad_norm", "target_kl", "n_envs",
}  # fmt: skip


@dataclass(frozen=True)
class TrainingPlan:
    """Everything that is decided about a training. `resume_from` is a checkpoint with its description, None
    to begin at step 0.
    """

    config: TrainingConfig
    hyperparameters: dict[str, Any]
    resume_from: tuple[Path, dict[str, Any]] | None

    @property
    def start_step(self) -> int:
        return self.resume_from[1]["step"] if self.resume_from else 0

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
        return (
            self.start_step
            + (self.config.total_timesteps - self.start_step) // self.per_update * self.per_update
        )


def resolve(config: TrainingConfig) -> dict[str, Any]:
    """Return the resolved configuration. Raises `ConfigError` with everything that is wrong."""
    plan = make_plan(config)
    return {
        **config.to_dict(plan.hyperparameters),
        "steps": plan.steps,
        "checkpoint_every": config.checkpoint_every,
    }


def make_plan(config: TrainingConfig) -> TrainingPlan:
    """Decide everything about a training. Raises `ConfigError`."""
    if config.algorithm not in ALGORITHMS:
        raise ConfigError(f"unknown algorithm {config.algorithm!r}{nearest(config.algorithm, ALGORITHMS)}")
    if bare(config.env_id) not in TRAINED:
        raise ConfigError(
            f"{config.env_id} can be compared and evaluated on here, not trained on; "
            f"{config.algorithm} trains on {', '.join(TRAINED)}"
        )
    known = parameters_of(config.algorithm, config.env_id)
    problems = []
    if config.seed > _LARGEST_SEED:
        problems.append(f"seed must be at most {_LARGEST_SEED}, got {config.seed}")
    given, resume_from = dict(config.hyperparameters), None
    if config.checkpoint.resume_from is not None:
        resume_from = read_description(config.checkpoint.resume_from, FORMAT, ALGORITHMS)
        bound_to = [name for name in known if name not in _NOT_BUILT_BY]
        problems += resume_misfits(config, *resume_from, bound_to)
        given = {**resume_from[1]["hyperparameters"], **given}
    hyperparameters = check_hyperparameters(given, known, problems)
    if wrong := list(_out_of_range(hyperparameters)):
        raise ConfigError(wrong)
    plan = TrainingPlan(config, hyperparameters, resume_from)
    if plan.steps == plan.start_step:
        raise ConfigError(
            f"total_timesteps={config.total_timesteps} ends before the first update, which takes n_steps="
            f"{hyperparameters['n_steps']} steps of {plan.count} environments: raise it or lower these"
        )
    return plan


def module_of(algorithm: str) -> Any:
    """The module of an algorithm: with what it learns by and what acts for it. Imports its upstream alone."""
    return importlib.import_module(f".{algorithm}", __package__)


def _out_of_range(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values that upstream would refuse only once it trains."""
    yield from out_of_range(values, least=_FROM, above_zero=_ABOVE_ZERO, to_one=_TO_ONE)
    for name, value in values.items():
        widths = isinstance(value, list)
        if widths and not (value and all(type(width) is int and width > 0 for width in value)):
            yield f"hyperparameter {name!r} must be one or more whole numbers above 0, got {value}"
