"""The plan of a training from a run's configuration, checked before anything trains."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterator, Mapping

from mosaic_contract import ConfigError, TrainingConfig, check_hyperparameters
from mosaic_contract.environment_spec import CONTINUOUS, DISCRETE
from mosaic_contract.hyperparameters import not_widths
from mosaic_contract.training_plan import (
    TrainingPlan,
    check_algorithm,
    resumed,
    start_problems,
    with_wrappers,
)
from mosaic_contract.wrappers import CHANNELS_LAST

from .algorithms import ALGORITHMS, BOUND, GAMES, Algorithm
from .environments import XuanceEnvironmentSpec, misfits, spec_of
from .hyperparameters import parameters_of

FORMAT = "mosaic-xuance/1"
"""The format of a checkpoint and its description."""

_LARGEST_SEED = 2**32 - 1 - 1024  # NumPy's bound, less room for one seed per environment
_MAY_BE_EMPTY = ("representation_hidden_size",)
_MAY_BE_EMPTY_FOR_GAMES = ("actor_hidden_size", "critic_hidden_size")  # after convolutions


@dataclass(frozen=True)
class XuancePlan(TrainingPlan):
    """Everything that is decided about a training. `own_spec` has the spaces of the environment, `spec` those
    behind its wrappers.
    """

    algorithm: Algorithm
    own_spec: XuanceEnvironmentSpec
    spec: XuanceEnvironmentSpec

    @property
    def parallels(self) -> int:
        """Environments that are stepped together."""
        return int(self.hyperparameters["parallels"])

    @property
    def steps(self) -> int:
        """The step at which the training ends: all environments step together, so whole steps of all, and at
        least one where it goes on from a checkpoint. Where upstream plays whole episodes (`use_rnn`) it goes
        on to the end of the last ones.
        """
        fit = (self.config.end_step - self.start_step) // self.parallels
        return self.start_step + (max(fit, 1) if self.resume_from else fit) * self.parallels

    @property
    def first_update(self) -> int:
        """Steps before something is learned for the first time."""
        values, parallels = self.hyperparameters, self.parallels
        if values.get("use_rnn"):
            episodes = values["buffer_size"] if self.algorithm.on_policy else parallels
            return max(values.get("start_training", 0), self.spec.longest * int(episodes))
        if self.algorithm.on_policy:
            return _rollout(values)
        between = math.lcm(values["training_frequency"], parallels)
        # A single agent's learner waits until start_training has passed, a team's until it is reached.
        waits = values["start_training"] + (0 if self.algorithm.several else 1)
        return math.ceil(waits / between) * between + parallels


def resolve(config: TrainingConfig) -> dict[str, Any]:
    """Return the resolved configuration. Raises `ConfigError` with everything that is wrong."""
    plan = make_plan(config)
    return plan.resolved(**plan.own_spec.describe_spaces(), steps=plan.steps)


def make_plan(config: TrainingConfig) -> XuancePlan:
    """Decide everything about a training. Raises `ConfigError`."""
    check_algorithm(config.algorithm, ALGORITHMS)
    algorithm = ALGORITHMS[config.algorithm]
    resume_from, given = resumed(config, FORMAT, ALGORITHMS)
    config = with_wrappers(config, resume_from, CHANNELS_LAST)
    choice = parameters_of(algorithm.name, algorithm.kind).get("continuous_action")
    continuous = given.get("continuous_action", choice.default if choice else False)
    own_spec = spec_of(config.env_id, continuous=continuous is True)
    spec = own_spec.wrapped(config.wrappers)
    problems = [*start_problems(config, resume_from, BOUND, _LARGEST_SEED, own_spec.describe_spaces())]
    fits = spec.configured in algorithm.configured
    known = parameters_of(algorithm.name, spec.configured if fits else algorithm.kind)
    problems += misfits(algorithm, spec)
    if "continuous_action" in known and not spec.chooses:
        only = spec.kind == CONTINUOUS
        if given.setdefault("continuous_action", only) is not only:
            problems.append(f"continuous_action: {spec.env_id} has {spec.kind} actions only; leave it out")
    hyperparameters = check_hyperparameters(given, known, problems)
    may_be_empty = (*_MAY_BE_EMPTY, *(_MAY_BE_EMPTY_FOR_GAMES if spec.configured == GAMES else ()))
    wrong = [*not_widths(hyperparameters, may_be_empty), *_disagreements(algorithm, spec, hyperparameters)]
    if wrong:
        raise ConfigError(wrong)
    plan = XuancePlan(config, hyperparameters, resume_from, algorithm, own_spec, spec)
    if resume_from is None and plan.steps < plan.first_update:
        raise ConfigError(
            f"{config.end_field} ends before the first update, which comes after "
            f"{plan.first_update} steps of the {plan.parallels} environments together; raise it, or lower "
            f"{_what_waits(plan)}"
        )
    return plan


def _rollout(values: Mapping[str, Any]) -> int:
    """Transitions that an on-policy algorithm learns from at once."""
    if "horizon_size" in values:
        return int(values["horizon_size"] * values["parallels"])
    return int(values["buffer_size"])


def _what_waits(plan: XuancePlan) -> str:
    if "horizon_size" in plan.hyperparameters:
        return "horizon_size or parallels"
    return "buffer_size" if plan.algorithm.on_policy else "start_training, training_frequency or parallels"


def _disagreements(
    algorithm: Algorithm, spec: XuanceEnvironmentSpec, values: Mapping[str, Any]
) -> Iterator[str]:
    """Yield values that are valid alone, but not with each other or with this environment."""
    if algorithm.several and values["buffer_size"] % values["parallels"]:
        yield (
            f"buffer_size={values['buffer_size']} must be a multiple of parallels={values['parallels']}: "
            "upstream's buffers hold as much of each environment"
        )
    if algorithm.on_policy:
        whole = _rollout(values)
        for name in ("n_minibatch", "batch_size"):
            if (values[name] or 0) > whole:
                yield f"{name}={values[name]} is more than the {whole} transitions that are learned from"
    if values.get("use_rnn") and not spec.longest:
        yield f"use_rnn needs episodes of a known length; {spec.env_id} does not declare its own"
    if algorithm.several and len({str(space) for space in _spaces(spec)}) > 1:
        yield from _mixed_spaces(algorithm, spec, values)
    if algorithm.name == "sac" and spec.kind == DISCRETE and values["use_automatic_entropy_tuning"]:
        yield (
            "use_automatic_entropy_tuning: upstream's learner for discrete actions looks for an action space "
            "where there is none, and fails; leave it out, and give alpha"
        )
    if (
        algorithm.name == "maddpg"
        and any((space.low < 0).any() for space in spec.actions.values())
        and (values["activation_action"] == "sigmoid")
    ):
        yield (
            f"activation_action='sigmoid' gives actions from 0 to 1; those of {spec.env_id} go below 0: "
            "choose 'tanh'"
        )


def _spaces(spec: XuanceEnvironmentSpec) -> list[tuple[Any, Any]]:
    return [(spec.observations[agent], spec.actions[agent]) for agent in spec.actions]


def _mixed_spaces(
    algorithm: Algorithm, spec: XuanceEnvironmentSpec, values: Mapping[str, Any]
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
