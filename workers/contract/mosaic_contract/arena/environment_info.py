"""What an arena says of its environment: to the kernel when it is opened, to operators at their seats."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any, Callable, Mapping

from mosaic_contract.arena.actions import Rules
from mosaic_contract.arena.environment_adapters import World
from mosaic_contract.arena.environment_facts import EnvironmentFacts, teams_of, usual_keys
from mosaic_contract.arrays import pack
from mosaic_contract.spaces import describe_space

FactsOf = Callable[[Any, str], EnvironmentFacts]


class About:
    """Facts and rules of every agent. `facts_of` is the shim's; it may raise what it likes."""

    def __init__(self, env_id: str, world: World, facts_of: FactsOf | None) -> None:
        self.env_id = env_id
        self.rules: dict[str, Rules] = {}
        self._world = world
        self.facts: dict[str, EnvironmentFacts] = {}
        self._observation_spaces: dict[str, Any] = {}
        for agent in world.agents:
            facts = facts_of(world.env, agent) if facts_of else EnvironmentFacts()
            observation_space, action_space = world.spaces(agent)
            self.facts[agent] = facts
            self._observation_spaces[agent] = describe_space(observation_space)
            self.rules[agent] = Rules(action_space, facts.action_meanings, world.masks_bind)
        self._teams = teams_of(world.agents, self.facts) if len(world.agents) > 1 else {}

    def opened(self, why_no_frames: str | None, versions: Mapping[str, str]) -> dict[str, Any]:
        """The answer to "open"; `versions` are added to those of the packages that the environment is of."""
        agents = self._world.agents
        return {
            "type": "opened",
            "env_id": self.env_id,
            "paradigm": self._world.paradigm,
            "agents": agents,
            "spaces": {
                agent: {"observation": self._observation_spaces[agent], "action": self.rules[agent].described}
                for agent in agents
            },
            "action_meanings": {agent: self._meanings(agent) for agent in agents},
            "keys": {agent: self._keys(agent) for agent in agents},
            "teams": self._teams,
            "renders": why_no_frames is None,
            "render_reason": why_no_frames or "",
            "versions": {**versions, **_versions(self._world)},
        }

    def introduction(self, agent: str) -> dict[str, Any]:
        """What "init_agent" says of an agent, whichever operator acts for it."""
        agents = self._world.agents
        return {
            "game_name": self.env_id,
            "player_id": agent,
            "observation_space": self._observation_spaces[agent],
            "action_space": self.rules[agent].described,
            "settings": {
                "env_id": self.env_id,
                "action_meanings": self._meanings(agent),
                "keys": self._keys(agent),
                "instructions": self.facts[agent].instructions,
                "agents": agents,
                "teammates": self.teammates(agent),
            },
        }

    def teammates(self, agent: str) -> list[str]:
        """The other agents of its team; all other agents where there are no teams, unless it plays for
        itself."""
        if self.facts[agent].team == "":
            return []
        teams = self._teams or {"all": self._world.agents}
        team = next((members for members in teams.values() if agent in members), [])
        return [other for other in team if other != agent]

    def _meanings(self, agent: str) -> list[str] | None:
        meanings = self.facts[agent].action_meanings
        return None if meanings is None else list(meanings)

    def _keys(self, agent: str) -> Any:
        keys = self.facts[agent].keys
        return pack(usual_keys(self.rules[agent].described) if keys is None else dict(keys))


def _versions(world: World) -> dict[str, str]:
    """Python, NumPy, and the packages that the environment's classes come from."""
    inner: Any = world.env
    classes = [*type(inner).__mro__, *type(getattr(inner, "unwrapped", inner)).__mro__]
    found = {"python": sys.version.partition(" ")[0]}
    for package in dict.fromkeys(["numpy", *(cls.__module__.partition(".")[0] for cls in classes)]):
        for name in (package, package.replace("_", "-")):
            try:
                found[name] = metadata.version(name)
                break
            except metadata.PackageNotFoundError:
                continue
    return found
