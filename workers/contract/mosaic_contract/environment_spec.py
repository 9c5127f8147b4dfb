"""The spaces of an environment and of each of its agents, for shims that train on one agent or on teams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterator, Mapping

from mosaic_contract.messages import ALONE
from mosaic_contract.spaces import describe_space

DISCRETE, CONTINUOUS = "discrete", "continuous"


@dataclass(frozen=True)
class EnvironmentSpec:
    """An environment's id and the spaces of each agent, `ALONE` being the only agent of Gymnasium's.

    `several` says that it is a parallel environment of PettingZoo, also where it has one agent only.
    """

    env_id: str
    observations: Mapping[str, Any]
    actions: Mapping[str, Any]
    several: bool

    @classmethod
    def of(cls, env_id: str, env: Any, **details: Any) -> Any:
        """Return the spec of an environment of Gymnasium or PettingZoo; `details` are a subclass's fields."""
        agents = list(getattr(env, "possible_agents", ()))
        if not agents:
            return cls(
                env_id, {ALONE: env.observation_space}, {ALONE: env.action_space}, several=False, **details
            )
        observations = {agent: env.observation_space(agent) for agent in agents}
        actions = {agent: env.action_space(agent) for agent in agents}
        return cls(env_id, observations, actions, several=True, **details)

    def describe_spaces(self) -> dict[str, Any]:
        """Return the spaces as a checkpoint's description has them; `checkpoints.spaces_of` reads them."""
        agents = {
            agent: {
                "observation_space": describe_space(self.observations[agent]),
                "action_space": describe_space(self.actions[agent]),
            }
            for agent in self.actions
        }
        return {"agents": agents} if self.several else agents[ALONE]

    def observation_problems(self, algorithm: str) -> Iterator[str]:
        """Yield why an algorithm of networks for vectors cannot take the observations, once at most."""
        for agent, space in self.observations.items():
            if type(space).__name__ != "Box" or len(space.shape) != 1:
                yield (
                    f"{algorithm} needs vectors (a Box of one dimension) as observations; {agent} of "
                    f"{self.env_id} has {space}"
                )
                return

    def action_problems(self, algorithm: str, kinds: Mapping[str, Any], needed: str) -> Iterator[str]:
        """Yield why an algorithm cannot choose the actions, once at most, with the algorithms that can.

        `kinds` has the kinds of actions of each algorithm, `needed` names those of this one.
        """
        for agent, space in self.actions.items():
            kind = space_kind(space)
            if kind not in kinds[algorithm]:
                others = [name for name, can in kinds.items() if kind in can]
                hint = f" (for those: {', '.join(others)})" if others else ""
                yield f"{algorithm} needs {needed} actions; {agent} of {self.env_id} has {space}{hint}"
                return


def space_kind(space: Any) -> str:
    """Return DISCRETE for numbers from 0 on, CONTINUOUS for a Box of one dimension, "" for anything else."""
    if type(space).__name__ == "Discrete" and space.start == 0:
        return DISCRETE
    return CONTINUOUS if type(space).__name__ == "Box" and len(space.shape) == 1 else ""
