"""Roles in a team: which one an agent has follows from its place among its teammates."""

from __future__ import annotations

import re
from typing import Sequence

ANY_TEAM = (
    "You lead: go for the goal yourself, by the shortest way.",
    "You support: do what your teammates leave undone, and keep out of their way.",
)
"""For teams of environments that have no roles of their own."""


def role_of(roles: Sequence[str], agent: str, teammates: Sequence[str]) -> str:
    """Return the role of an agent; where there are more agents than roles, these begin again."""
    place = sorted([agent, *teammates], key=_natural).index(agent)
    return roles[place % len(roles)]


def _natural(name: str) -> tuple[str, int]:
    """ "agent_10" after "agent_9"."""
    text, digits = re.fullmatch(r"(.*?)(\d*)", name).groups()  # type: ignore[union-attr]
    return text, int(digits or 0)
