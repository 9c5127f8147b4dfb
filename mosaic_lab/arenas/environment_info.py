"""Validated information about an open environment; see `mosaic_lab.policies.Facts`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec


@dataclass(frozen=True)
class EnvironmentInfo:
    """An environment: its agents with their spaces (as descriptions), teams, action meanings and keys.

    ``paradigm``: "single_agent", "parallel" or "aec". ``keys``: {agent: {browser name of a key: action}}.
    ``renders``: whether it renders frames; if not, ``render_reason`` says why.
    """

    env_id: str
    paradigm: str
    agents: list[str]
    spaces: dict[str, dict[str, Any]]
    teams: dict[str, list[str]] = field(default_factory=dict)
    action_meanings: dict[str, list[str] | None] = field(default_factory=dict)
    keys: dict[str, dict[str, Any]] = field(default_factory=dict)
    renders: bool = True
    render_reason: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def named_actions(self, agent: str) -> dict[str, int]:
        """Return an agent's discrete actions by name; empty if they have no names."""
        space = self.spaces[agent]["action"]
        if space["type"] != "Discrete":
            return {}
        names = self.action_meanings.get(agent) or []
        return {name: action for action, name in enumerate(names, space.get("start", 0))}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> EnvironmentInfo:
        """Read an arena's "opened" message. Raises KeyError, TypeError or ValueError if it is malformed."""
        info = msgspec.convert(message, cls)
        for agent in info.agents:
            info.spaces[agent]["observation"], info.spaces[agent]["action"]
        if not info.agents:
            raise ValueError("it has no agents")
        return info
