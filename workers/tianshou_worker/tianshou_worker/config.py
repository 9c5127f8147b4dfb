"""The plan of a training from a run's configuration, validated before training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping

from mosaic_contract import Parameter, TrainingConfig
from mosaic_contract.environment_spec import EnvironmentSpec
from mosaic_contract.hyperparameters import env_kwargs_of, width_problems
from mosaic_contract.training_plan import PlannedTraining

from .algorithms import ALGORITHMS, TianshouAlgorithm
from .datasets import Dataset, read_dataset
from .environments import game_problems, is_pictures, misfits, spec_of
from .hyperparameters import parameters_of
from .self_play import learner_spec


@dataclass(frozen=True)
class TianshouPlan(PlannedTraining):
    """A validated and resolved training. For a turn-based game, `spec` has the observations of the policy
    that plays all sides.

    `steps` is the end of the training, `start_step` the step of the checkpoint, and `warm_up` the number of
    steps before the first update; each update follows `collection` steps.
    """

    FORMAT = "mosaic-tianshou/1"
    ALGORITHMS = ALGORITHMS

    algorithm: TianshouAlgorithm
    own_spec: EnvironmentSpec
    spec: EnvironmentSpec

    @classmethod
    def probed(
        cls, config: TrainingConfig, hyperparameters: Mapping[str, Any]
    ) -> tuple[TrainingConfig, Any, Any]:
        own_spec = spec_of(config.env_id, env_kwargs_of(hyperparameters))
        in_turns = own_spec.several
        return config, own_spec, learner_spec(own_spec) if in_turns else own_spec.wrapped(config.wrappers)

    def misfits(self) -> Iterable[str]:
        in_turns = self.own_spec.several
        games = game_problems(self.algorithm, self.config.wrappers) if in_turns else ()
        return [*misfits(self.algorithm, self.spec), *games]

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return parameters_of(self.algorithm.name)

    def checked(self, problems: Iterable[str]) -> dict[str, Any]:
        values = super().checked(problems)
        if values.get("dataset"):
            values["dataset"] = str((self.config.launch_dir / Path(values["dataset"]).expanduser()).resolve())
        return values

    def disagreements(self) -> Iterable[str]:
        values = self.hyperparameters
        problems = list(_value_problems(values))
        widths = self.parameters["hidden_sizes"].default
        if is_pictures(self.spec.observation_space) and values["hidden_sizes"] != widths:
            problems.append(
                "hidden_sizes: upstream's convolutional networks have widths of their own; leave it out"
            )
        if values.get("layer_num"):
            problems.extend(self._unfit_for_recurrence(widths))
        if "dataset" in values and not values["dataset"]:
            problems.append(
                f"{self.algorithm.name} learns from a recorded dataset: give dataset, the path of a Minari "
                "dataset, which ev.dataset(…) writes, or of a dataset.hdf5, which an off-policy training "
                "with save_buffer=True leaves"
            )
        yield from problems
        if not problems:
            _ = self.dataset  # read before anything starts, since it may be invalid
            if self.updates < 1:
                yield _too_short(self)

    def _unfit_for_recurrence(self, widths: Any) -> Iterator[str]:
        """Yield why upstream's LSTM cannot be trained, one sentence per reason. `widths` are the default."""
        if self.hyperparameters["hidden_sizes"] != widths:
            yield "hidden_sizes: the LSTM of layer_num has the width hidden_layer_size; leave it out"
        if self.own_spec.several:
            yield "layer_num: in games of turns, the other players' moves need policies without a state"
        elif len(self.spec.observation_space.shape) != 1:
            yield "layer_num: upstream's LSTM takes vectors, not images; add 'flat' to wrappers"
        if self.hyperparameters["save_buffer"]:
            yield "save_buffer: the buffer of an LSTM has no next observations, which a dataset needs"

    @cached_property
    def dataset(self) -> Dataset | None:
        """The dataset of an offline algorithm; None for others. Raises `ConfigError` for an invalid file."""
        path = self.hyperparameters.get("dataset")
        if not path:
            return None
        return read_dataset(Path(path), self.own_spec, self.spec, self.config.wrappers)

    @property
    def collection(self) -> int:
        """The steps of a collection, rounded up to whole steps of all environments, which step together. For
        an offline algorithm: an epoch of gradient steps, followed by an evaluation."""
        if self.algorithm.offline:
            return int(self.hyperparameters["epoch_num_steps"])
        return self._whole_steps(self.hyperparameters["collection_step_num_env_steps"])

    @property
    def warm_up(self) -> int:
        return self._whole_steps(self.hyperparameters.get("start_timesteps", 0))

    @property
    def environments(self) -> int:
        return int(self.hyperparameters.get("num_training_envs", 1))

    @property
    def updates(self) -> int:
        """The number of collections, each with its update, in the remaining steps; at least one when resuming
        from a checkpoint."""
        fit = (self.config.end_step - self.start_step - self.warm_up) // self.collection
        return max(fit, 1) if self.resume_from else fit

    @property
    def steps(self) -> int:
        return self.start_step + self.warm_up + self.updates * self.collection

    def _whole_steps(self, steps: int) -> int:
        return math.ceil(steps / self.environments) * self.environments


def _too_short(plan: TianshouPlan) -> str:
    problem = f"{plan.config.end_field} ends before the first"
    if plan.algorithm.offline:
        return f"{problem} evaluation, at step epoch_num_steps={plan.collection}; raise it or lower that"
    return (
        f"{problem} update: start_timesteps and collection_step_num_env_steps, in whole steps of "
        f"{plan.environments} environments, take {plan.warm_up + plan.collection} "
        "steps; raise it or lower these"
    )


def _value_problems(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield values that are within their limits, but that upstream would reject during training."""
    yield from width_problems(values)
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
