"""mosaic-multigrid's games as parallel environments: agents "agent_0", "agent_1", … instead of numbers.

Upstream's own PettingZoo wrappers need PettingZoo, whose pygame-ce does not live beside the pygame that these
games need; what an arena needs of that interface is here.
"""

from __future__ import annotations

import difflib
import os
from typing import Any, Mapping

from mosaic_contract import ConfigError
from mosaic_contract.arena import check_gymnasium_settings

_PREFIX = "MosaicMultiGrid-"


def make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> TeamGame:
    """Make a game, with `settings` as keywords. Raises `ConfigError` for an unknown id, with those near to
    it."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")  # drawing opens the mixer too
    ids = known()
    if env_id not in ids:
        near = difflib.get_close_matches(env_id, ids, n=3)
        raise ConfigError(
            f"mosaic-multigrid has no environment {env_id!r}."
            + (f" Did you mean {' or '.join(near)}?" if near else "")
            + " `mosaic-lab workers list multigrid` shows those that there are"
        )
    import gymnasium

    check_gymnasium_settings(env_id, settings)
    # Gymnasium's checker knows one agent only.
    return TeamGame(gymnasium.make(env_id, render_mode=render_mode, disable_env_checker=True, **settings))


def known() -> list[str]:
    """Return the ids of all games."""
    import gymnasium
    import mosaic_multigrid  # noqa: F401  (registers them)

    return sorted(env_id for env_id in gymnasium.registry if env_id.startswith(_PREFIX))


class TeamGame:
    """A game, spoken to as a PettingZoo parallel environment. An observation's mission is its text."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._numbers = {f"agent_{agent.index}": agent.index for agent in env.unwrapped.agents}
        self.possible_agents = list(self._numbers)
        self.agents: list[str] = []

    @property
    def unwrapped(self) -> Any:
        return self._env.unwrapped

    def observation_space(self, agent: str) -> Any:
        return self._env.observation_space[self._numbers[agent]]

    def action_space(self, agent: str) -> Any:
        return self._env.action_space[self._numbers[agent]]

    def reset(self, seed: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        observations, infos = self._env.reset(seed=seed)
        self.agents = list(self.possible_agents)
        return self._observations(observations), self._named(infos or {})

    def step(self, actions: Mapping[str, int]) -> tuple[dict[str, Any], ...]:
        played = {self._numbers[agent]: action for agent, action in actions.items()}
        observations, *others = self._env.step(played)
        rewards, terminated, truncated, infos = map(self._named, others)
        self.agents = [agent for agent in self.agents if not (terminated.get(agent) or truncated.get(agent))]
        return self._observations(observations), rewards, terminated, truncated, infos

    def render(self) -> Any:
        return self._env.render()

    def close(self) -> None:
        self._env.close()

    def _named(self, values: Mapping[Any, Any]) -> dict[str, Any]:
        return {agent: values[number] for agent, number in self._numbers.items() if number in values}

    def _observations(self, observations: Mapping[Any, Any]) -> dict[str, Any]:
        return {
            agent: {**observation, "mission": str(observation["mission"])}
            for agent, observation in self._named(observations).items()
        }
