"""The plan of a training from a run's configuration, checked before anything trains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Mapping

from mosaic_contract import ConfigError, TrainingConfig, check_hyperparameters
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.hyperparameters import not_widths
from mosaic_contract.training_plan import (
    TrainingPlan,
    check_algorithm,
    resumed,
    start_problems,
    with_wrappers,
)

from .algorithms import ALGORITHMS, BOUND, Algorithm
from .datasets import Dataset, read_dataset
from .environments import game_problems, is_pictures, misfits, spec_of
from .hyperparameters import parameters_of
from .self_play import learner_spec

FORMAT = "mosaic-tianshou/1"
"""The format of a checkpoint and its description."""

_LARGEST_SEED = 2**32 - 1 - 1024  # NumPy's bound, less room for one seed per environment


@dataclass(frozen=True)
class TianshouPlan(TrainingPlan):
    """Everything that is decided about a training. `own_spec` has the spaces of the environment, `spec` those
    behind its wrappers, or of a game in turns what the policy of both players sees.

    `steps` is where the training ends, of which `start_step` were done by the checkpoint, and `warm_up` are
    taken before the first update; every update comes after `collection` steps.
    """

    algorithm: Algorithm
    own_spec: EnvironmentSpec
    spec: EnvironmentSpec
    dataset: Dataset | None

    @property
    def collection(self) -> int:
        """All environments step together, so a collection is rounded up to whole steps of all. Of an offline
        algorithm: an epoch of gradient steps, after which it is evaluated.
        """
        if self.algorithm.offline:
            return int(self.hyperparameters["epoch_num_steps"])
        return self._whole(self.hyperparameters["collection_step_num_env_steps"])

    @property
    def warm_up(self) -> int:
        return self._whole(self.hyperparameters.get("start_timesteps", 0))

    @property
    def updates(self) -> int:
        """Collections, each with its update, that fit into what is left of the training; at least one where
        it goes on from a checkpoint."""
        fit = (self.config.end_step - self.start_step - self.warm_up) // self.collection
        return max(fit, 1) if self.resume_from else fit

    @property
    def steps(self) -> int:
        return self.start_step + self.warm_up + self.updates * self.collection

    def _whole(self, steps: int) -> int:
        envs = self.hyperparameters.get("num_training_envs", 1)
        return math.ceil(steps / envs) * int(envs)


def resolve(config: TrainingConfig) -> dict[str, Any]:
    """Return the resolved configuration. Raises `ConfigError` with everything that is wrong."""
    plan = make_plan(config)
    return plan.resolved(**plan.own_spec.describe_spaces(), steps=plan.steps)


def make_plan(config: TrainingConfig) -> TianshouPlan:
    """Decide everything about a training. Raises `ConfigError`."""
    check_algorithm(config.algorithm, ALGORITHMS)
    algorithm = ALGORITHMS[config.algorithm]
    resume_from, given = resumed(config, FORMAT, ALGORITHMS)
    config = with_wrappers(config, resume_from)
    own_spec = spec_of(config.env_id)
    in_turns = own_spec.several
    spec = learner_spec(own_spec) if in_turns else own_spec.wrapped(config.wrappers)
    problems = [*misfits(algorithm, spec), *(game_problems(algorithm, config.wrappers) if in_turns else ())]
    problems += start_problems(config, resume_from, BOUND, _LARGEST_SEED, own_spec.describe_spaces())
    known = parameters_of(algorithm.name)
    hyperparameters = check_hyperparameters(given, known, problems)
    wrong = list(_disagreements(hyperparameters))
    widths = known["hidden_sizes"].default
    if is_pictures(spec.observation_space) and hyperparameters["hidden_sizes"] != widths:
        wrong.append("hidden_sizes: upstream's convolutional networks have widths of their own; leave it out")
    if wrong:
        raise ConfigError(wrong)
    dataset = None
    if "dataset" in hyperparameters:
        path = _dataset_path(config, hyperparameters)
        hyperparameters["dataset"] = str(path)
        dataset = read_dataset(path, spec, config.wrappers)
    plan = TianshouPlan(config, hyperparameters, resume_from, algorithm, own_spec, spec, dataset)
    if plan.updates < 1:
        raise ConfigError(_too_short(plan))
    return plan


def _dataset_path(config: TrainingConfig, hyperparameters: Mapping[str, Any]) -> Path:
    """Return the dataset's absolute path; a relative one starts at the folder where the run was started."""
    given = hyperparameters["dataset"]
    if not given:
        raise ConfigError(
            f"{config.algorithm} learns from a recorded dataset: give dataset, the path of a dataset.hdf5, "
            "which an off-policy training with save_buffer=True leaves"
        )
    return (config.launch_dir / Path(given).expanduser()).resolve()


def _too_short(plan: TianshouPlan) -> str:
    problem = f"{plan.config.end_field} ends before the first"
    if plan.algorithm.offline:
        return f"{problem} evaluation, at step epoch_num_steps={plan.collection}; raise it or lower that"
    return (
        f"{problem} update: start_timesteps and collection_step_num_env_steps, in whole steps of "
        f"{plan.hyperparameters['num_training_envs']} environments, take {plan.warm_up + plan.collection} "
        "steps; raise it or lower these"
    )


def _disagreements(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values that are within their limits, and that upstream would refuse once it trains."""
    yield from not_widths(values)
    if "v_min" in values and not values["v_min"] < values["v_max"]:
        yield f"v_min must be below v_max, got {values['v_min']} and {values['v_max']}"
    if "subset_size" in values and values["subset_size"] > values["ensemble_size"]:
        yield (
            f"subset_size={values['subset_size']} critics cannot be drawn from an ensemble of "
            f"ensemble_size={values['ensemble_size']}"
        )
    if values.get("unlikely_action_threshold") == 1:
        yield f"unlikely_action_threshold must be below 1, got {values['unlikely_action_threshold']}"
    if "unlikely_action_threshold" in values and values["target_update_freq"] < 1:
        yield "target_update_freq must be at least 1: discrete_bcq needs a target network"
    if "disc_update_num" in values and values["disc_update_num"] > values["collection_step_num_env_steps"]:
        yield (
            f"disc_update_num={values['disc_update_num']} updates of the discriminator cannot share "
            f"collection_step_num_env_steps={values['collection_step_num_env_steps']} steps"
        )
    per_sample = values.get("update_step_num_gradient_steps_per_sample")
    if per_sample is not None and round(per_sample * values["collection_step_num_env_steps"]) < 1:
        yield (
            f"update_step_num_gradient_steps_per_sample={per_sample} of "
            f"collection_step_num_env_steps={values['collection_step_num_env_steps']} gives no gradient step"
        )
