"""The plan of a training from a run's configuration, checked before anything trains."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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

from .algorithms import ALGORITHMS, AUTO, EVOLUTION, OFF_POLICY, ON_POLICY, Algorithm, bound_to
from .environments import SMALLEST_IMAGE, in_short, is_image, is_small, misfits, spec_of
from .hyperparameters import parameters_of

FORMAT = "mosaic-sb3/1"
"""The format of a checkpoint and its description."""

_LARGEST_SEED = 2**32 - 1 - 1024  # NumPy's bound, less room for one seed per environment


@dataclass(frozen=True)
class Sb3Plan(TrainingPlan):
    """Everything that is decided about a training. `own_spec` has the spaces of the environment, `spec` those
    behind its wrappers. `policy` is upstream's name of the policy.
    """

    algorithm: Algorithm
    own_spec: EnvironmentSpec
    spec: EnvironmentSpec
    policy: str

    @property
    def update_steps(self) -> int:
        """The steps from one update to the next; 1 where that depends on the episodes."""
        if self.algorithm.family == EVOLUTION:
            return 1
        name = "n_steps" if self.algorithm.family == ON_POLICY else "train_freq"
        return int(self.hyperparameters[name]) * int(self.hyperparameters["num_envs"])

    @property
    def steps(self) -> int:
        """Where the training ends: upstream collects whole updates, so the last may go beyond the end."""
        remaining = self.config.end_step - self.start_step
        return self.start_step + math.ceil(remaining / self.update_steps) * self.update_steps


def resolve(config: TrainingConfig) -> dict[str, Any]:
    """Return the resolved configuration. Raises `ConfigError` with everything that is wrong."""
    plan = make_plan(config)
    known = {} if plan.algorithm.family == EVOLUTION else {"steps": plan.steps}
    return plan.resolved(**plan.own_spec.describe_spaces(), **known)


def make_plan(config: TrainingConfig) -> Sb3Plan:
    """Decide everything about a training. Raises `ConfigError`."""
    check_algorithm(config.algorithm, ALGORITHMS)
    algorithm = ALGORITHMS[config.algorithm]
    config = replace(config, hyperparameters=_plain(algorithm, config.hyperparameters))
    resume_from, given = resumed(config, FORMAT, ALGORITHMS)
    config = with_wrappers(config, resume_from)
    own_spec = spec_of(config.env_id)
    spec = own_spec.wrapped(config.wrappers)
    problems = [
        *misfits(algorithm, spec),
        *start_problems(config, resume_from, bound_to(algorithm), _LARGEST_SEED, own_spec.describe_spaces()),
    ]
    values = check_hyperparameters(given, parameters_of(algorithm.name), problems)
    policy = _policy_name(algorithm, spec.observation_space, values["policy"])
    plan = Sb3Plan(config, values, resume_from, algorithm, own_spec, spec, policy)
    if wrong := [*_disagreements(values), *_of_policy(plan), *_of_steps(plan)]:
        raise ConfigError(wrong)
    return plan


def _plain(algorithm: Algorithm, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hyperparameters with upstream's words and dictionaries as this worker has them: "auto" is
    None, and the parts of `net_arch` are two lists.
    """
    values = dict(given)
    for name in ("ent_coef", "target_entropy"):
        if values.get(name) == AUTO:
            values[name] = None
    arch = values.get("net_arch")
    if isinstance(arch, dict) and algorithm.critic and set(arch) == {"pi", algorithm.critic}:
        values |= {"net_arch": arch["pi"], "critic_net_arch": arch[algorithm.critic]}
    return values


def _policy_name(algorithm: Algorithm, observations: Any, requested: str) -> str:
    """Return upstream's name of the requested policy; by default the one for the observations."""
    if requested != AUTO:
        return requested
    if algorithm.family == EVOLUTION:
        return algorithm.policies[0]
    vectors, images, dicts = algorithm.policies
    if type(observations).__name__ == "Dict":
        return dicts
    return images if is_image(observations) and not is_small(observations) else vectors


def _of_policy(plan: Sb3Plan) -> Iterator[str]:
    """Yield why the policy cannot be used on the observations."""
    values, space = plan.hyperparameters, plan.spec.observation_space
    has = f"{plan.config.env_id} has {in_short(space)}"
    is_dict = type(space).__name__ == "Dict"
    if plan.policy.startswith("Cnn") and not (is_image(space) and not is_small(space)):
        size = f"{SMALLEST_IMAGE}×{SMALLEST_IMAGE}"
        yield f"policy={plan.policy!r} needs images, uint8 from 0 to 255, of at least {size} pixels; {has}"
    elif plan.policy == "LinearPolicy" and (values["net_arch"] or values["activation_fn"]):
        yield "policy='LinearPolicy' has no hidden layers: net_arch and activation_fn need 'MlpPolicy'"
    elif plan.policy.startswith("MultiInput") != is_dict:
        needs = "observations that are not a Dict" if is_dict else "a Dict as observations"
        yield f"policy={plan.policy!r} needs {needs}; {has}: leave it out, and the fitting one is taken"
    if values.get("n_steps", 1) > 1 and is_dict and plan.algorithm.family == OFF_POLICY:
        yield f"n_steps={values['n_steps']}: upstream has no n-step returns of a Dict; {has}"
    if values.get("use_sde") and type(plan.spec.action_space).__name__ != "Box":
        yield f"use_sde needs continuous actions; {plan.config.env_id} has {in_short(plan.spec.action_space)}"


def _of_steps(plan: Sb3Plan) -> Iterator[str]:
    """Yield why the training would be too short."""
    values, end = plan.hyperparameters, plan.config.end_field
    if values.get("learning_starts", 0) >= plan.config.end_step:
        yield (
            f"{end} ends before the first update, which comes after learning_starts="
            f"{values['learning_starts']} steps; raise it or lower that"
        )
    if plan.config.end_step < plan.config.total_timesteps and plan.config.end_step < plan.update_steps:
        yield f"{end} ends within the first {plan.update_steps} steps, after which comes the first update"


def _disagreements(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values that are within their limits, and that upstream would refuse once it trains."""
    yield from not_widths(values, may_be_empty=("net_arch", "critic_net_arch"))
    if values.get("critic_net_arch") is not None and values["net_arch"] is None:
        yield "critic_net_arch needs net_arch, the widths of the policy's own layers"
    if values.get("normalize_advantage"):
        if values.get("batch_size", 2) < 2:
            yield "batch_size must be at least 2 with normalize_advantage"
        if values["n_steps"] * values["num_envs"] < 2:
            yield "n_steps * num_envs must be at least 2 with normalize_advantage"
    if values.get("shared_lstm") and values["enable_critic_lstm"]:
        yield "shared_lstm=True needs enable_critic_lstm=False: the critic shares the actor's LSTM"
    if values.get("n_top") is not None and values["n_top"] > values["n_delta"]:
        yield f"n_top={values['n_top']} of n_delta={values['n_delta']} directions cannot be the best"
    if values.get("top_quantiles_to_drop_per_net", 0) >= values.get("n_quantiles", math.inf):
        yield "top_quantiles_to_drop_per_net must be below n_quantiles"
