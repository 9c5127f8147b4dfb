"""Facts about an environment that is open, checked: what a policy mapping is decided by
(`mosaic_lab.policies.Facts`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class EnvironmentInfo:
    """An environment: its agents with their spaces (as descriptions), teams, action meanings and keys.

    ``paradigm``: "single_agent", "parallel" or "aec". ``keys``: {agent: {key as a browser names it: action}}.
    ``renders`` says whether there are frames, ``render_reason`` why not.
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

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> EnvironmentInfo:
        """Read an arena's "opened". Raises KeyError, TypeError or ValueError for a message that lacks
        something.
        """
        agents = [str(agent) for agent in message["agents"]]
        spaces = dict(message["spaces"])
        for agent in agents:
            spaces[agent]["observation"], spaces[agent]["action"]
        if not agents:
            raise ValueError("it has no agents")
        return cls(
            env_id=str(message["env_id"]),
            paradigm=str(message["paradigm"]),
            agents=agents,
            spaces=spaces,
            teams=dict(message.get("teams") or {}),
            action_meanings=dict(message.get("action_meanings") or {}),
            keys=dict(message.get("keys") or {}),
            renders=bool(message.get("renders", True)),
            render_reason=str(message.get("render_reason") or ""),
            versions=dict(message.get("versions") or {}),
        )
