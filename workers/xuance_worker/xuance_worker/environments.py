"""The environments of trainings and arenas. Does not import torch."""

from __future__ import annotations

import difflib
import functools
import inspect
import warnings
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping, Sequence

from mosaic_contract import ConfigError, registry
from mosaic_contract.checked_environment import checked, make_for_training
from mosaic_contract.codec import with_tagged_tuples
from mosaic_contract.environment_check import offers, probe
from mosaic_contract.environment_spec import CONTINUOUS, EnvironmentSpec, space_kind
from mosaic_contract.errors import EnvironmentMissing
from mosaic_contract.gymnasium_wrappers import Wrapper
from mosaic_contract.pettingzoo_ids import (
    parallel_module,
    pettingzoo_ids,
    pettingzoo_module,
    required_render_mode,
)
from mosaic_contract.wrappers import advice

from .algorithms import ALGORITHMS, GAMES, XuanceAlgorithm

_CONTINUOUS_KEYWORD = "continuous_actions"
"""The keyword of environments with discrete actions by default that can be made continuous."""


@dataclass(frozen=True)
class XuanceEnvironmentSpec(EnvironmentSpec):
    """An environment's spaces, and other properties that upstream's learners depend on.

    `chooses`: a keyword decides whether its actions are discrete or continuous. `longest`: the maximum number
    of steps in an episode, 0 if unknown. `keywords`: the run's keyword arguments of the environment.
    """

    chooses: bool
    longest: int
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The kind of the first agent's actions: discrete, continuous, or "" for neither."""
        return space_kind(next(iter(self.actions.values())))

    @property
    def configured(self) -> str:
        """The key of upstream's configuration for it: the kind of actions, or games."""
        return GAMES if not self.several and is_pictures(self.observation_space) else self.kind

    @property
    def settings(self) -> dict[str, Any]:
        """The keywords that it was made with, in addition to its own defaults, as JSON."""
        continuous = {_CONTINUOUS_KEYWORD: True} if self.chooses and self.kind == CONTINUOUS else {}
        return {**continuous, **with_tagged_tuples(self.keywords)}


def is_pictures(space: Any) -> bool:
    """Return whether observations are images for upstream's convolutions: bytes, channels last."""
    return len(space.shape or ()) == 3 and space.dtype == "uint8" and min(space.shape) == space.shape[2]


def make(
    env_id: str,
    keywords: Mapping[str, Any],
    *,
    continuous: bool,
    wrappers: Sequence[Wrapper] = (),
    render_mode: str | None = None,
) -> Any:
    """Make a Gymnasium or parallel PettingZoo environment for a training.

    `wrappers` are the run's, which `mosaic_contract.wrappers.wrap` completes. `continuous` applies to
    environments with both kinds of actions. Raises the environment's own errors.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if pettingzoo_module(env_id) is None:
            return make_for_training(env_id, wrappers, render_mode=render_mode, **keywords)
        return checked(_make_team(env_id, keywords, continuous, render_mode), env_id)


def _make_team(
    env_id: str, keywords: Mapping[str, Any], continuous: bool, render_mode: str | None = None
) -> Any:
    """Make a parallel PettingZoo environment. Raises `ConfigError` for a turn-based environment."""
    module = parallel_module(env_id)
    chosen = {_CONTINUOUS_KEYWORD: continuous} if _chooses(module) else {}
    render_mode = required_render_mode(module.__name__, render_mode)
    return module.parallel_env(render_mode=render_mode, **{**chosen, **keywords})


def make_for_arena(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    """Make an environment to act in, with ``settings`` as keywords. Raises `ConfigError` for unknown and
    turn-based environments and for unsupported settings, else the environment's own errors."""
    from mosaic_contract.arena import check_settings, make_gymnasium  # trainings do not need these

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = parallel_module(env_id)
        if module is None:
            return make_gymnasium(env_id, settings, render_mode)
        check_settings(env_id, settings, getattr(module, "raw_env", module.parallel_env))
        return module.parallel_env(render_mode=render_mode, **settings)


def spec_of(env_id: str, keywords: Mapping[str, Any], *, continuous: bool) -> XuanceEnvironmentSpec:
    """Check an environment and return its spec. Raises `ConfigError`."""
    own_team = pettingzoo_module(env_id) is not None
    try:
        make_one = (
            functools.partial(_make_team, env_id, keywords, continuous)
            if own_team
            else functools.partial(registry.make, env_id, **keywords)
        )
        env, _ = probe(env_id, make_one)
    except EnvironmentMissing as error:
        raise EnvironmentMissing(f"{error}{_nearest(env_id)}") from None
    if offers(env, "agent_iter"):
        raise ConfigError(
            f"{env_id} is played in turns, XuanCe trains parallel environments: train with worker 'rllib' or "
            "'tianshou'"
        )
    longest = (
        getattr(getattr(env, "unwrapped", env), "max_cycles", 0)  # a class of the user's may have no base
        if offers(env, "possible_agents")
        else getattr(env.spec, "max_episode_steps", 0)
    )
    chooses = own_team and _chooses(parallel_module(env_id))
    spec: XuanceEnvironmentSpec = XuanceEnvironmentSpec.of(
        env_id, env, chooses=chooses, longest=int(longest or 0), keywords=keywords
    )
    return spec


def misfits(
    algorithm: XuanceAlgorithm, spec: XuanceEnvironmentSpec, own_spec: XuanceEnvironmentSpec
) -> list[str]:
    """Return why the algorithm cannot be used on this environment, one sentence per reason. `own_spec` has
    its spaces before the run's wrappers."""
    peers = {name: candidate for name, candidate in ALGORITHMS.items() if candidate.several == spec.several}
    if algorithm.name not in peers:
        trains = "several agents at once" if algorithm.several else "one agent"
        has = f"{len(spec.actions)} agents" if spec.several else "one agent"
        return [f"{algorithm.name} trains {trains}; {spec.env_id} has {has} (for it: {', '.join(peers)})"]
    if spec.several and len(spec.actions) == 1:
        return [
            f"{spec.env_id} is a team of one, which upstream's learners of teams cannot stack; "
            "those of one agent do not take PettingZoo's environments"
        ]
    policies_of = {name: candidate.policies for name, candidate in peers.items()}
    sees_images = algorithm.games and spec.configured == GAMES
    return [
        *(() if sees_images else _observation_problems(algorithm, spec, own_spec)),
        *spec.action_problems(algorithm.name, policies_of),
    ]


def _observation_problems(
    algorithm: XuanceAlgorithm, spec: XuanceEnvironmentSpec, own_spec: XuanceEnvironmentSpec
) -> Iterator[str]:
    """Yield why the algorithm cannot use the observations, with the wrappers that the run needs instead of
    its own."""
    if spec.several:
        yield from spec.observation_problems(algorithm.name, wraps=True)
        return
    own = own_spec.observation_space
    image = getattr(own, "spaces", {}).get("image")
    convolved = algorithm.games and image is not None and is_pictures(image)
    images = "; ['image'] makes images for its convolutions" if convolved else ""
    convolves = "" if algorithm.games else "; for convolutional networks train ppo"
    for problem in spec.observation_problems(algorithm.name, convolves=convolves):
        yield f"{problem}{advice(own, spec.env_id)}{images}"


def _nearest(env_id: str) -> str:
    """Return the end of an error about an unknown environment: the nearest id, if any."""
    name = env_id.rpartition("/")[2]
    names = [own_id.rpartition("/")[2] for own_id in pettingzoo_ids()]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.8)
    return f"; did you mean {close[0]!r}?" if close and close[0] != name else ""


def _chooses(module: Any) -> bool:
    raw = getattr(module, "raw_env", None)
    return raw is not None and _CONTINUOUS_KEYWORD in inspect.signature(raw).parameters
