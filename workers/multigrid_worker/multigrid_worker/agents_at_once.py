"""Multi-agent environments with agents numbered from 0 as parallel environments: "agent_0", "agent_1", ….

Upstream's own PettingZoo wrappers require PettingZoo, whose pygame-ce conflicts with the pygame of these
games. This module implements the part of the interface that an arena needs.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from mosaic_contract.arena import NumberedAgents, make_gymnasium

_FIRST = {
    "noop": "0",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "forward": "ArrowUp",
    "pickup": "p",
    "drop": "d",
    "toggle": " ",
    "done": "Enter",
}
_SECOND = {
    "noop": "1",
    "left": "a",
    "right": "f",
    "forward": "w",
    "pickup": "e",
    "drop": "q",
    "toggle": "r",
    "done": "t",
}


def make_agents_at_once(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> AgentsAtOnce:
    """Create a registered environment, with `settings` as keywords. Raises `ConfigError` for unknown ones."""
    return AgentsAtOnce(make_gymnasium(env_id, settings, render_mode))


class AgentsAtOnce(NumberedAgents):
    """A game as a PettingZoo parallel environment. The mission in an observation is a string."""

    def __init__(self, env: Any) -> None:
        super().__init__(env, (agent.index for agent in env.unwrapped.agents))

    def reset(self, seed: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        observations, infos = self._env.reset(seed=seed)
        self.agents = list(self.possible_agents)
        return self._observations(observations), self._by_agent(infos or {})

    def step(self, actions: Mapping[str, int]) -> tuple[dict[str, Any], ...]:
        numbered = {self._numbers[agent]: action for agent, action in actions.items()}
        observations, *results = self._env.step(numbered)
        rewards, terminated, truncated, infos = map(self._by_agent, results)
        self.agents = [agent for agent in self.agents if not (terminated.get(agent) or truncated.get(agent))]
        return self._observations(observations), rewards, terminated, truncated, infos

    def _by_agent(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        return {agent: values[number] for agent, number in self._numbers.items() if number in values}

    def _observations(self, observations: Mapping[Any, Any]) -> dict[str, Any]:
        return {
            agent: {**observation, "mission": str(observation["mission"])}
            for agent, observation in self._by_agent(observations).items()
        }


def keys_of(actions: Iterable[Any], number: int) -> dict[str, int]:
    """Return the keys of an enumeration of actions, for the agent with this number."""
    keys = _SECOND if number == 1 else _FIRST
    return {keys[action.name]: int(action) for action in actions}
