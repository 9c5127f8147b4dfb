"""The spaces of an environment and of each of its agents, for shims that train on one agent or on teams."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Collection, Iterator, Mapping, Sequence

from mosaic_contract.environment_check import offers
from mosaic_contract.errors import ConfigError
from mosaic_contract.gymnasium_wrappers import Statistics, Wrapper, in_short, outside_class, with_time_limit
from mosaic_contract.messages import ALONE
from mosaic_contract.registry import is_atari_game
from mosaic_contract.space_compatibility import text_of
from mosaic_contract.spaces import describe_space, from_zero, make_space
from mosaic_contract.wrappers import (
    advice,
    check_names,
    is_of_observations,
    is_picture,
    is_plain,
    observation_transform,
    wrap,
)

DISCRETE, CONTINUOUS = "discrete", "continuous"


@dataclass(frozen=True)
class EnvironmentSpec:
    """An environment's id and the spaces of each agent; the single agent of a Gymnasium environment is
    `ALONE`. `several` marks a parallel PettingZoo environment, even with only one agent."""

    env_id: str
    observations: Mapping[str, Any]
    actions: Mapping[str, Any]
    several: bool

    @classmethod
    def of(cls, env_id: str, env: Any, **details: Any) -> Any:
        """Return the spec of a Gymnasium or PettingZoo environment; `details` are fields of a subclass."""
        agents = list(env.possible_agents) if offers(env, "possible_agents") else []
        if not agents:
            return cls(
                env_id, {ALONE: env.observation_space}, {ALONE: env.action_space}, several=False, **details
            )
        observations = {agent: env.observation_space(agent) for agent in agents}
        actions = {agent: env.action_space(agent) for agent in agents}
        return cls(env_id, observations, actions, several=True, **details)

    def check_alone(self) -> None:
        """Raise `ConfigError` if there are several agents."""
        if self.several:
            agents = ", ".join(map(str, self.observations))
            raise ConfigError(
                f"{self.env_id} has several agents ({agents}): this worker does not train them. Train teams "
                "with worker 'xuance' or 'rllib', games in turns with 'rllib' or 'tianshou'"
            )

    @property
    def observation_space(self) -> Any:
        """The observation space of the only agent."""
        return self.observations[ALONE]

    @property
    def action_space(self) -> Any:
        """The action space of the only agent."""
        return self.actions[ALONE]

    def describe_spaces(self) -> dict[str, Any]:
        """Return the spaces in the form of a checkpoint's description, read by `checkpoints.spaces_of`."""
        agents = {
            agent: {
                "observation_space": describe_space(self.observations[agent]),
                "action_space": describe_space(self.actions[agent]),
            }
            for agent in self.actions
        }
        return {"agents": agents} if self.several else agents[ALONE]

    def wrapped(self, wrappers: Sequence[Wrapper]) -> Any:
        """Return the spec that a training uses: the spaces after these wrappers, and discrete actions that
        start at 0. Raises `ConfigError`."""
        actions = {agent: from_zero(space) for agent, space in self.actions.items()}
        if not wrappers:
            return replace(self, actions=actions)
        check_names(wrappers)
        if not self.several and not all(map(is_plain, wrappers)):
            outside = outside_class()(self.observation_space, actions[ALONE])
            env = wrap(with_time_limit(outside, wrappers), wrappers, self.env_id, Statistics())
            return replace(
                self, observations={ALONE: env.observation_space}, actions={ALONE: env.action_space}
            )
        if single_agent := [in_short(wrapper) for wrapper in wrappers if not is_of_observations(wrapper)]:
            raise ConfigError(f"wrappers: {', '.join(single_agent)}: only for environments of one agent")
        transforms = {
            agent: observation_transform(describe_space(space), wrappers, self.env_id)
            for agent, space in self.observations.items()
        }
        observations = {agent: make_space(transform.space) for agent, transform in transforms.items()}
        return replace(self, observations=observations, actions=actions)

    def observation_problems(
        self, algorithm: str, *, wraps: bool = False, convolves: str = ""
    ) -> Iterator[str]:
        """Yield why an algorithm with networks for vectors cannot use the observations, at most once. If the
        worker `wraps` environments, suggest the wrappers that produce vectors; for pictures, also what
        `convolves` them, as the end of a sentence."""
        for agent, space in self.observations.items():
            if type(space).__name__ != "Box" or len(space.shape) != 1:
                hint = advice(space, self.env_id) if wraps else ""
                hint += convolves if is_picture(space) and not is_atari_game(self.env_id) else ""
                yield (
                    f"{algorithm} needs vectors (a Box of one dimension) as observations; "
                    f"{self._owner(agent)} has {text_of(describe_space(space))}{hint}"
                )
                return

    def action_problems(
        self, algorithm: str, kinds: Mapping[str, Collection[str]], *, bounded: bool = False
    ) -> Iterator[str]:
        """Yield why an algorithm cannot select the actions, at most once, with the algorithms that can.

        `kinds` has the kinds of actions of each algorithm; `bounded` algorithms scale continuous actions to
        finite bounds.
        """
        for agent, space in self.actions.items():
            has = f"{self._owner(agent)} has {space}"
            kind = {"Discrete": DISCRETE, "Box": CONTINUOUS}.get(type(space).__name__, "")
            if kind not in kinds[algorithm]:
                alternatives = [name for name, can in kinds.items() if kind in can]
                hint = f"; for these actions use {', '.join(alternatives)}" if alternatives else ""
                yield f"{algorithm} needs {' or '.join(kinds[algorithm])} actions; {has}{hint}"
            elif kind == CONTINUOUS and len(space.shape) != 1:
                yield f"{algorithm} needs actions of one dimension; {has}"
            elif kind == CONTINUOUS and bounded and not all(map(math.isfinite, (*space.low, *space.high))):
                yield f"{algorithm} scales its actions to finite bounds; {has}"
            else:
                continue
            return

    def _owner(self, agent: str) -> str:
        return f"{agent} of {self.env_id}" if self.several else self.env_id


def space_kind(space: Any) -> str:
    """Return DISCRETE for one discrete choice, CONTINUOUS for a one-dimensional Box, "" for any other
    space."""
    if type(space).__name__ == "Discrete":
        return DISCRETE
    return CONTINUOUS if type(space).__name__ == "Box" and len(space.shape) == 1 else ""
