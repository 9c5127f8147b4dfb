"""The description of an environment, for the kernel when it is opened and for operators when they are
seated."""

from __future__ import annotations

import sys
from importlib import metadata
from typing import Any, Callable, Mapping

from mosaic_contract.arena.actions import ActionRules
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter
from mosaic_contract.arena.environment_facts import EnvironmentFacts, teams_of, usual_keys
from mosaic_contract.arrays import pack
from mosaic_contract.spaces import describe_space

FactsOf = Callable[[Any, str], EnvironmentFacts]


class EnvironmentDescription:
    """Facts and rules of every agent. `facts_of` is the shim's; it may raise anything."""

    def __init__(self, env_id: str, environment: EnvironmentAdapter, facts_of: FactsOf | None) -> None:
        self.env_id = env_id
        self.rules: dict[str, ActionRules] = {}
        self._environment = environment
        self.facts: dict[str, EnvironmentFacts] = {}
        self._observation_spaces: dict[str, Any] = {}
        for agent in environment.agents:
            facts = facts_of(environment.env, agent) if facts_of else EnvironmentFacts()
            observation_space, action_space = environment.spaces(agent)
            self.facts[agent] = facts
            self._observation_spaces[agent] = describe_space(observation_space)
            self.rules[agent] = ActionRules(action_space, facts.action_meanings, environment.masks_bind)
        self._teams = teams_of(environment.agents, self.facts) if len(environment.agents) > 1 else {}

    def opened(self, why_no_frames: str | None, versions: Mapping[str, str]) -> dict[str, Any]:
        """Return the answer to "open"; `versions` are added to those of the environment's packages."""
        agents = self._environment.agents
        return {
            "type": "opened",
            "env_id": self.env_id,
            "paradigm": self._environment.paradigm,
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
            "versions": {**versions, **_versions(self._environment)},
        }

    def introduction(self, agent: str) -> dict[str, Any]:
        """Return the fields of "init_agent" that are the same for every operator."""
        agents = self._environment.agents
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
        """Return the other agents of its team; all other agents where there are no teams, unless it plays for
        itself."""
        if self.facts[agent].team == "":
            return []
        teams = self._teams or {"all": self._environment.agents}
        team = next((members for members in teams.values() if agent in members), [])
        return [other for other in team if other != agent]

    def _meanings(self, agent: str) -> list[str] | None:
        meanings = self.facts[agent].action_meanings
        return None if meanings is None else list(meanings)

    def _keys(self, agent: str) -> Any:
        keys = self.facts[agent].keys
        return pack(usual_keys(self.rules[agent].described) if keys is None else dict(keys))


def _versions(environment: EnvironmentAdapter) -> dict[str, str]:
    """Return the versions of Python, NumPy, and the packages of the environment's classes."""
    inner: Any = environment.env
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
