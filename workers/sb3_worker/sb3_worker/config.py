"""The plan of a training from a run's configuration, validated before training."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Iterable, Iterator, Mapping

from mosaic_contract import Parameter, TrainingConfig
from mosaic_contract.config import nearest
from mosaic_contract.hyperparameters import env_kwargs_of, width_problems
from mosaic_contract.training_plan import PlannedTraining

from .algorithms import ALGORITHMS, AUTO, EVOLUTION, EXTRACTORS, OFF_POLICY, ON_POLICY, Sb3Algorithm
from .environments import MaskableSpec, in_short, is_image, is_small, misfits, spec_of
from .hyperparameters import parameters_of, policy_keywords
from .tuned import with_tuned


@dataclass(frozen=True)
class Sb3Plan(PlannedTraining):
    """A validated and resolved training."""

    FORMAT = "mosaic-sb3/1"
    ALGORITHMS = ALGORITHMS

    algorithm: Sb3Algorithm
    own_spec: MaskableSpec
    spec: MaskableSpec

    @classmethod
    def adapted(cls, config: TrainingConfig) -> TrainingConfig:
        config = with_tuned(config)
        return replace(config, hyperparameters=_normalized(config.algorithm, config.hyperparameters))

    @classmethod
    def probed(
        cls, config: TrainingConfig, hyperparameters: Mapping[str, Any]
    ) -> tuple[TrainingConfig, Any, Any]:
        own_spec = spec_of(config.env_id, env_kwargs_of(hyperparameters))
        return config, own_spec, own_spec.wrapped(config.wrappers)

    def misfits(self) -> Iterable[str]:
        return misfits(self.algorithm, self.spec)

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        return parameters_of(self.algorithm.name)

    def disagreements(self) -> Iterable[str]:
        return [
            *_value_problems(self.hyperparameters),
            *_policy_problems(self),
            *_kwargs_problems(self),
            *_step_problems(self),
        ]

    @property
    def policy(self) -> str:
        """Upstream's name for the policy: the requested one, by default the one for the observations."""
        requested: str = self.hyperparameters["policy"]
        if requested != AUTO:
            return requested
        if self.algorithm.family == EVOLUTION:
            return self.algorithm.policies[0]
        vectors, images, dicts = self.algorithm.policies
        observations = self.spec.observation_space
        if type(observations).__name__ == "Dict":
            return dicts
        return images if is_image(observations) and not is_small(observations) else vectors

    @property
    def sees_small_pictures(self) -> bool:
        """Whether the policy's convolutions are those for small pictures."""
        return self.policy.startswith("Cnn") and is_small(self.spec.observation_space)

    @property
    def update_steps(self) -> int:
        """The number of steps between updates; 1 if it depends on the episodes."""
        if self.algorithm.family == EVOLUTION:
            return 1
        name = "n_steps" if self.algorithm.family == ON_POLICY else "train_freq"
        return int(self.hyperparameters[name]) * int(self.hyperparameters["num_envs"])

    @property
    def steps(self) -> int | None:
        """The environment step at which the training ends. Upstream collects whole updates, so the last may
        exceed the configured end. None for algorithms that collect whole episodes."""
        if self.algorithm.family == EVOLUTION:
            return None
        remaining = self.config.end_step - self.start_step
        return self.start_step + math.ceil(remaining / self.update_steps) * self.update_steps


def _normalized(name: str, hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hyperparameters with upstream's strings and dictionaries in this worker's form: "auto"
    becomes None, and the parts of `net_arch` become two lists."""
    values = dict(hyperparameters)
    for key in ("ent_coef", "target_entropy"):
        if values.get(key) == AUTO:
            values[key] = None
    kwargs = values.get("policy_kwargs")
    if isinstance(kwargs, dict) and name in ALGORITHMS:
        moved = {key: value for key, value in kwargs.items() if key in parameters_of(name)}
        values = {**moved, **values, "policy_kwargs": {k: v for k, v in kwargs.items() if k not in moved}}
    arch, critic = values.get("net_arch"), ALGORITHMS[name].critic if name in ALGORITHMS else ""
    if isinstance(arch, dict) and critic and set(arch) == {"pi", critic}:
        values |= {"net_arch": arch["pi"], "critic_net_arch": arch[critic]}
    return values


def _policy_problems(plan: Sb3Plan) -> Iterator[str]:
    """Yield why the policy cannot be used on the observations."""
    values, space = plan.hyperparameters, plan.spec.observation_space
    has = f"{plan.config.env_id} has {in_short(space)}"
    is_dict = type(space).__name__ == "Dict"
    if 0 in (getattr(space, "shape", None) or ()):
        yield f"the networks of sb3 need at least one number to observe; {has}"
    if plan.policy.startswith("Cnn") and not (is_image(space) or _is_grid(space)):
        yield f"policy={plan.policy!r} needs images, uint8 from 0 to 255, or a grid of at most 35×35; {has}"
    elif plan.policy == "LinearPolicy" and (values["net_arch"] or values["activation_fn"]):
        yield "policy='LinearPolicy' has no hidden layers: net_arch and activation_fn need 'MlpPolicy'"
    elif plan.policy.startswith("MultiInput") != is_dict:
        needs = "observations that are not a Dict" if is_dict else "a Dict as observations"
        yield f"policy={plan.policy!r} needs {needs}; {has}: leave it out to use the fitting one"
    if values.get("n_steps", 1) > 1 and is_dict and plan.algorithm.family == OFF_POLICY:
        yield f"n_steps={values['n_steps']}: upstream has no n-step returns of a Dict; {has}"
    if values.get("use_sde") and type(plan.spec.action_space).__name__ != "Box":
        yield f"use_sde needs continuous actions; {plan.config.env_id} has {in_short(plan.spec.action_space)}"


def _is_grid(space: Any) -> bool:
    """Return whether observations are small pictures of any numbers."""
    return (
        type(space).__name__ == "Box"
        and len(space.shape) == 3
        and min(space.shape[:2]) >= 3
        and is_small(space)
    )


def _kwargs_problems(plan: Sb3Plan) -> Iterator[str]:
    """Yield the unknown entries of `policy_kwargs`."""
    keywords, kwargs = policy_keywords(plan.algorithm.name), plan.hyperparameters["policy_kwargs"]
    for key in kwargs:
        if key not in keywords:
            yield f"policy_kwargs: {plan.algorithm.name} has no {key!r}{nearest(key, keywords)}"
    extractor = kwargs.get("features_extractor_class", EXTRACTORS[0])
    if extractor not in EXTRACTORS:
        hint = nearest(str(extractor), EXTRACTORS)
        yield f"policy_kwargs: unknown features_extractor_class {extractor!r:.100}{hint}"


def _step_problems(plan: Sb3Plan) -> Iterator[str]:
    """Yield why the training would be too short."""
    values, end = plan.hyperparameters, plan.config.end_field
    if values.get("learning_starts", 0) >= plan.config.end_step:
        yield (
            f"{end} ends before the first update, which comes after learning_starts="
            f"{values['learning_starts']} steps; raise it or lower that"
        )
    if plan.config.end_step < plan.config.total_timesteps and plan.config.end_step < plan.update_steps:
        yield f"{end} ends within the first {plan.update_steps} steps, after which comes the first update"


def _value_problems(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield values that are within their limits, but that upstream would reject during training."""
    yield from width_problems(values, may_be_empty=("net_arch", "critic_net_arch"))
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
