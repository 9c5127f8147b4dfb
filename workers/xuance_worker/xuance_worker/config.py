"""The plan of a training from a run's configuration, validated before training."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Iterable, Iterator, Mapping

from mosaic_contract import ConfigError, Parameter, TrainingConfig
from mosaic_contract.environment_spec import CONTINUOUS, DISCRETE
from mosaic_contract.hyperparameters import env_kwargs_of, width_problems
from mosaic_contract.training_plan import PlannedTraining
from mosaic_contract.wrappers import CHANNELS_LAST

from .algorithms import ALGORITHMS, GAMES, REFUSED, SPELLINGS, XuanceAlgorithm
from .environments import XuanceEnvironmentSpec, misfits, spec_of
from .hyperparameters import CONTINUOUS_ACTION, parameters_of

_MAY_BE_EMPTY = ("representation_hidden_size",)
_MAY_BE_EMPTY_FOR_GAMES = ("actor_hidden_size", "critic_hidden_size")  # after convolutions
_ATARI_SIDE = 36  # minimum side length of images for upstream's configuration, in pixels
_SMALL = {"filters": [32, 64], "kernels": [3, 3], "strides": [1, 1]}
"""The convolutions for smaller images, such as MiniGrid's 7×7×3."""


@dataclass(frozen=True)
class XuancePlan(PlannedTraining):
    """A validated and resolved training."""

    FORMAT = "mosaic-xuance/1"
    ALGORITHMS = ALGORITHMS
    GAME_WRAPPERS = (CHANNELS_LAST,)

    algorithm: XuanceAlgorithm
    own_spec: XuanceEnvironmentSpec
    spec: XuanceEnvironmentSpec

    @classmethod
    def adapted(cls, config: TrainingConfig) -> TrainingConfig:
        name = config.algorithm.lower()
        if name in REFUSED:
            raise ConfigError(f"{name} of XuanCe is not offered: {REFUSED[name]}")
        return replace(config, algorithm=SPELLINGS.get(name, name))

    @classmethod
    def probed(
        cls, config: TrainingConfig, hyperparameters: Mapping[str, Any]
    ) -> tuple[TrainingConfig, Any, Any]:
        algorithm = ALGORITHMS[config.algorithm]
        choice = parameters_of(algorithm.name, algorithm.kind).get(CONTINUOUS_ACTION)
        continuous = hyperparameters.get(CONTINUOUS_ACTION, choice.default if choice else False)
        own_spec = spec_of(config.env_id, env_kwargs_of(hyperparameters), continuous=continuous is True)
        return config, own_spec, own_spec.wrapped(config.wrappers)

    def misfits(self) -> Iterable[str]:
        spec = self.spec
        yield from misfits(self.algorithm, spec, self.own_spec)
        only = spec.kind == CONTINUOUS
        fixed = CONTINUOUS_ACTION in self.parameters and not spec.chooses
        if fixed and self.hyperparameters.get(CONTINUOUS_ACTION, only) is not only:
            yield f"{CONTINUOUS_ACTION}: {spec.env_id} has {spec.kind} actions only; leave it out"

    def disagreements(self) -> Iterable[str]:
        games = _MAY_BE_EMPTY_FOR_GAMES if self.spec.configured == GAMES else ()
        problems = [
            *width_problems(self.hyperparameters, (*_MAY_BE_EMPTY, *games)),
            *_disagreements(self.algorithm, self.spec, self.hyperparameters),
        ]
        yield from problems
        if not problems and self.resume_from is None and self.steps < self.first_update:
            yield (
                f"{self.config.end_field} ends before the first update, which comes after "
                f"{self.first_update} steps of the {self.environments} environments together; raise it, or "
                f"lower {_what_waits(self)}"
            )

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The parameters as configured by upstream for the environment, if it has a configuration."""
        algorithm, spec, configured = self.algorithm, self.spec, self.spec.configured
        parameters = parameters_of(
            algorithm.name, configured if configured in algorithm.configured else algorithm.kind
        )
        defaults: dict[str, Any] = {}
        if configured == GAMES and max(spec.observation_space.shape[:2]) < _ATARI_SIDE:
            defaults |= _SMALL
        if CONTINUOUS_ACTION in parameters and not spec.chooses:
            defaults[CONTINUOUS_ACTION] = spec.kind == CONTINUOUS
        return parameters | {
            name: replace(parameters[name], default=default) for name, default in defaults.items()
        }

    @property
    def environments(self) -> int:
        return int(self.hyperparameters["parallels"])

    @property
    def steps(self) -> int:
        """The step at which the training ends. All environments step together, so it is a whole number of
        joint steps, at least one when resuming from a checkpoint. If upstream plays whole episodes
        (`use_rnn`), training continues to the end of the last ones."""
        fit = (self.config.end_step - self.start_step) // self.environments
        return self.start_step + (max(fit, 1) if self.resume_from else fit) * self.environments

    @property
    def first_update(self) -> int:
        """The number of steps before the first update."""
        values, parallels = self.hyperparameters, self.environments
        if values.get("use_rnn"):
            episodes = values["buffer_size"] if self.algorithm.on_policy else parallels
            return max(values.get("start_training", 0), self.spec.longest * int(episodes))
        if self.algorithm.on_policy:
            return _rollout(values)
        interval = math.lcm(values["training_frequency"], parallels)
        # A single agent's learner waits until start_training is exceeded, a team's until it is reached.
        waits = values["start_training"] + (0 if self.algorithm.several else 1)
        return math.ceil(waits / interval) * interval + parallels


def _rollout(values: Mapping[str, Any]) -> int:
    """Return the number of transitions per update of an on-policy algorithm."""
    if "horizon_size" in values:
        return int(values["horizon_size"] * values["parallels"])
    return int(values["buffer_size"])


def _what_waits(plan: XuancePlan) -> str:
    if "horizon_size" in plan.hyperparameters:
        return "horizon_size or parallels"
    return "buffer_size" if plan.algorithm.on_policy else "start_training, training_frequency or parallels"


def _disagreements(
    algorithm: XuanceAlgorithm, spec: XuanceEnvironmentSpec, values: Mapping[str, Any]
) -> Iterator[str]:
    """Yield values that are valid alone, but not together or not in this environment."""
    if algorithm.several and values["buffer_size"] % values["parallels"]:
        yield (
            f"buffer_size={values['buffer_size']} must be a multiple of parallels={values['parallels']}: "
            "upstream's buffers hold as much of each environment"
        )
    if len({len(values[name]) for name in _SMALL if name in values}) > 1:
        yield f"{', '.join(_SMALL)} must be equally long, got {[values[name] for name in _SMALL]}"
    if algorithm.on_policy:
        whole = _rollout(values)
        for name in ("n_minibatch", "batch_size"):
            if (values[name] or 0) > whole:
                yield f"{name}={values[name]} is more than the {whole} transitions that are learned from"
    if values.get("use_rnn") and algorithm.name == "qtran":
        yield "use_rnn: upstream's qtran fails with recurrent networks; leave it out"
    if values.get("use_rnn") and not spec.longest:
        yield f"use_rnn needs episodes of a known length; {spec.env_id} does not declare its own"
    spaces = {f"{spec.observations[agent]} {spec.actions[agent]}" for agent in spec.actions}
    if algorithm.several and len(spaces) > 1:
        yield from _mixed_spaces(algorithm, spec, values)
    if algorithm.name == "sac" and spec.kind == DISCRETE and values["use_automatic_entropy_tuning"]:
        yield (
            "use_automatic_entropy_tuning: upstream's learner for discrete actions looks for an action space "
            "where there is none, and fails; leave it out, and give alpha"
        )
    if (
        algorithm.several
        and not algorithm.on_policy
        and values.get("activation_action") == "sigmoid"
        and any((space.low < 0).any() for space in spec.actions.values())
    ):
        yield (
            f"activation_action='sigmoid' gives actions from 0 to 1; those of {spec.env_id} go below 0: "
            "choose 'tanh'"
        )


def _mixed_spaces(
    algorithm: XuanceAlgorithm, spec: XuanceEnvironmentSpec, values: Mapping[str, Any]
) -> Iterator[str]:
    if values["use_parameter_sharing"]:
        yield (
            f"the agents of {spec.env_id} have different spaces, so they cannot share one network: "
            "give use_parameter_sharing=False"
        )
    elif algorithm.name == "mappo" and not values["use_global_state"]:
        yield (
            f"upstream's critic of mappo joins observations of one size only, and those of {spec.env_id} "
            "differ: give use_global_state=True"
        )
