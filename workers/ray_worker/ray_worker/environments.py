"""What environments offer, and which algorithms fit them. No Ray and no torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping

from mosaic_contract import ConfigError, describe_space
from mosaic_contract.errors import one_line
from mosaic_contract.messages import ALONE

from .algorithms import ALGORITHMS, CONTINUOUS, DISCRETE, Algorithm
from .worlds import InTurns, make


@dataclass(frozen=True)
class World:
    """What an environment offers: the spaces of each agent. `several`: it is a PettingZoo world."""

    env_id: str
    observations: Mapping[str, Any]
    actions: Mapping[str, Any]
    several: bool

    def describe_spaces(self) -> dict[str, Any]:
        """The part of a description that tells the spaces of each agent, or those of the only one."""
        agents = {
            agent: {
                "observation_space": describe_space(self.observations[agent]),
                "action_space": describe_space(self.actions[agent]),
            }
            for agent in self.actions
        }
        return {"agents": agents} if self.several else agents[ALONE]


def probe(env_id: str, keywords: Mapping[str, Any]) -> World:
    """Make an environment once and say what it offers. Raises `ConfigError` for one that is unknown, played
    in turns, or cannot be made with these keywords.
    """
    try:
        env = make(env_id, keywords)
    except InTurns as error:
        raise ConfigError(str(error)) from None
    except Exception as error:  # whatever an environment's own code raises
        given = f" with env_config={dict(keywords)}" if keywords else ""
        raise ConfigError(f"environment {env_id!r} cannot be made here{given}: {one_line(error)}") from None
    try:
        if not hasattr(env, "possible_agents"):
            return World(env_id, {ALONE: env.observation_space}, {ALONE: env.action_space}, several=False)
        agents = list(env.possible_agents)
        observations = {agent: env.observation_space(agent) for agent in agents}
        actions = {agent: env.action_space(agent) for agent in agents}
        return World(env_id, observations, actions, several=True)
    finally:
        env.close()


def misfits(algorithm: Algorithm, world: World) -> Iterator[str]:
    """Why the algorithm cannot be used on this world, one sentence a reason."""
    for agent, space in world.observations.items():
        if type(space).__name__ != "Box" or len(space.shape) != 1:
            yield (
                f"{algorithm.name} needs vectors (a Box of one dimension) as observations; {agent} of "
                f"{world.env_id} has {space}"
            )
            break
    for agent, space in world.actions.items():
        if _kind(space) not in algorithm.actions:
            others = [name for name, other in ALGORITHMS.items() if _kind(space) in other.actions]
            hint = f" (for those: {', '.join(others)})" if others else ""
            yield (
                f"{algorithm.name} needs {' or '.join(algorithm.actions)} actions; {agent} of "
                f"{world.env_id} has {space}{hint}"
            )
            break


def _kind(space: Any) -> str:
    if type(space).__name__ == "Discrete" and space.start == 0:
        return DISCRETE
    return CONTINUOUS if type(space).__name__ == "Box" and len(space.shape) == 1 else ""
