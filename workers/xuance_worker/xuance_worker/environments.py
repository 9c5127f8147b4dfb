"""Environments: Gymnasium's by their ids, PettingZoo's parallel worlds by their modules. No torch here.

A world is called by its module, with or without its family: "simple_spread_v3" is "mpe2/simple_spread_v3";
those of PettingZoo's own families need theirs ("sisl/multiwalker_v9").
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import os
import warnings
from dataclasses import dataclass
from typing import Any, Iterator, Mapping

from mosaic_contract import ConfigError, describe_space, upstream_folder
from mosaic_contract.errors import one_line
from mosaic_contract.messages import ALONE

from .algorithms import ALGORITHMS, CONTINUOUS, DISCRETE, Algorithm

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")

_CHOICE = "continuous_actions"
"""The keyword of worlds whose actions are discrete unless they are asked to be continuous."""


@dataclass(frozen=True)
class World:
    """What an environment offers: the spaces of each agent. `several`: it is a PettingZoo world. `chooses`:
    its actions are discrete or continuous, as it is made. `longest`: steps of an episode, 0 if unknown.
    """

    env_id: str
    observations: Mapping[str, Any]
    actions: Mapping[str, Any]
    several: bool
    chooses: bool
    longest: int

    @property
    def kind(self) -> str:
        """Of the first agent's actions: discrete, continuous, or "" for neither."""
        return _kind(next(iter(self.actions.values())))

    @property
    def settings(self) -> dict[str, Any]:
        """The keywords that it was made with, beside its own defaults."""
        return {_CHOICE: True} if self.chooses and self.kind == CONTINUOUS else {}

    def describe_spaces(self) -> dict[str, Any]:
        """The part of a checkpoint's description that tells the spaces."""
        agents = {
            agent: {
                "observation_space": describe_space(self.observations[agent]),
                "action_space": describe_space(self.actions[agent]),
            }
            for agent in self.actions
        }
        return {"agents": agents} if self.several else agents[ALONE]


def make(env_id: str, *, continuous: bool, render_mode: str | None = None) -> Any:
    """The environment: Gymnasium's, or a parallel one of PettingZoo. `continuous` is for worlds that have a
    choice. Raises `ConfigError` for one that is unknown or cannot be made.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            module = _module(env_id)
            if module is None:
                return importlib.import_module("gymnasium").make(env_id, render_mode=render_mode)
            if hasattr(module, "parallel_env"):
                choice = {_CHOICE: continuous} if _chooses(module) else {}
                return module.parallel_env(render_mode=render_mode, **choice)
        except Exception as error:  # whatever an environment's own code raises
            told = f"environment {env_id!r} cannot be made here: {one_line(error)}{_nearest(env_id)}"
            raise ConfigError(told) from None
    raise ConfigError(f"{env_id} is played in turns, this worker trains on parallel worlds only")


def make_with(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    """An environment to act in, with ``settings`` as the keywords of its maker. Raises `ConfigError` for one
    that is unknown or played in turns, and for settings that it does not take; else what its maker raises.
    """
    from mosaic_contract.arena import check_settings, make_gymnasium  # of no use to trainings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = _module(env_id)
        if module is None:
            return make_gymnasium(env_id, settings, render_mode)
        if not hasattr(module, "parallel_env"):
            raise ConfigError(f"{env_id} is played in turns, this worker has parallel worlds only")
        check_settings(env_id, settings, getattr(module, "raw_env", module.parallel_env))
        return module.parallel_env(render_mode=render_mode, **settings)


def probe(env_id: str, *, continuous: bool) -> World:
    """Make an environment once and say what it offers. Raises `ConfigError`."""
    env = make(env_id, continuous=continuous)
    try:
        if not hasattr(env, "possible_agents"):
            longest = env.spec.max_episode_steps or 0
            spaces = {ALONE: env.observation_space}, {ALONE: env.action_space}
            return World(env_id, *spaces, several=False, chooses=False, longest=longest)
        agents = list(env.possible_agents)
        longest = int(getattr(env.unwrapped, "max_cycles", 0))
        observations = {agent: env.observation_space(agent) for agent in agents}
        actions = {agent: env.action_space(agent) for agent in agents}
        return World(env_id, observations, actions, True, _chooses(_module(env_id)), longest)
    finally:
        env.close()


def misfits(algorithm: Algorithm, world: World) -> list[str]:
    """Why the algorithm cannot be used on this world, one sentence a reason."""
    if algorithm.several != world.several:
        others = ", ".join(name for name, other in ALGORITHMS.items() if other.several == world.several)
        trains = "several agents at once" if algorithm.several else "one agent"
        has = f"{len(world.actions)} agents" if world.several else "one agent"
        return [f"{algorithm.name} trains {trains}; {world.env_id} has {has} (for it: {others})"]
    if world.several and len(world.actions) == 1:
        return [
            f"{world.env_id} is a team of one, which upstream's learners of teams cannot stack; "
            "those of one agent do not take PettingZoo's worlds"
        ]
    return [*_space_misfits(algorithm, world)]


def _space_misfits(algorithm: Algorithm, world: World) -> Iterator[str]:
    for agent, space in world.observations.items():
        if type(space).__name__ != "Box" or len(space.shape) != 1:
            yield (
                f"{algorithm.name} needs vectors (a Box of one dimension) as observations; {agent} of "
                f"{world.env_id} has {space}"
            )
            break
    for agent, space in world.actions.items():
        if _kind(space) not in algorithm.policies:
            fitting = [
                name
                for name, other in ALGORITHMS.items()
                if other.several == world.several and _kind(space) in other.policies
            ]
            others = f" (for those: {', '.join(fitting)})" if fitting else ""
            yield (
                f"{algorithm.name} needs {algorithm.actions} actions; {agent} of {world.env_id} has "
                f"{space}{others}"
            )
            break


def _kind(space: Any) -> str:
    if type(space).__name__ == "Discrete" and space.start == 0:
        return DISCRETE
    return CONTINUOUS if type(space).__name__ == "Box" and len(space.shape) == 1 else ""


def _module(env_id: str) -> Any:
    """The module of a PettingZoo world, None where the id is none."""
    family, _, name = env_id.rpartition("/")
    package = "mpe2" if family in ("", "mpe2") else f"pettingzoo.{family}"
    if not f"{family}{name}".isidentifier():
        return None
    try:
        if importlib.util.find_spec(f"{package}.{name}") is None:
            return None
    except ModuleNotFoundError:  # there is no such family
        return None
    return importlib.import_module(f"{package}.{name}")


def _nearest(env_id: str) -> str:
    """How an error about an unknown environment ends: with the world that is really near, if one is."""
    known = {
        path.stem: path.stem if family == "mpe2" else f"{path.parent.name}/{path.stem}"
        for family, files in (("pettingzoo", "*/*_v*.py"), ("mpe2", "*_v*.py"))
        for path in upstream_folder(family).glob(files)
    }
    close = difflib.get_close_matches(env_id.rpartition("/")[2], known, n=1, cutoff=0.8)
    return f"; did you mean {known[close[0]]!r}?" if close and known[close[0]] != env_id else ""


def _chooses(module: Any) -> bool:
    raw = getattr(module, "raw_env", None)
    return raw is not None and _CHOICE in inspect.signature(raw).parameters
