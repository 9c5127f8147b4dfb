"""`EnvironmentDescriber`, which each family of environments makes, and text helpers for describers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

Observe = Callable[[Any, Mapping[str, Any]], str]
ANY_TEAM = (
    "You lead: go for the goal yourself, by the shortest way.",
    "You support: do what your teammates leave undone, and keep out of their way.",
)
"""Roles for teams of environments that have no roles of their own."""


@dataclass(frozen=True)
class EnvironmentDescriber:
    """Describes an environment to one agent.

    `rules` say what it is about, `advice` how to do well, `role` is this agent's in its team. `names` are
    names of the actions (None: those that the environment gives). `observe` turns an observation and the
    environment's description of the state into text; it may raise any error for an observation of another
    form. `of_other` does the same for another agent's observation, in the third person, with the description
    of that agent. `shares`: whether this agent may see the observations of others; False where the rules hide
    them.
    """

    rules: str
    observe: Observe
    of_other: Observe | None = None
    advice: str = ""
    role: str = ""
    names: Sequence[str] | None = None
    shares: bool = True


def bullets(head: str, lines: Sequence[str], nothing: str) -> list[str]:
    """Return a heading with a line for each entry; `nothing` where there are none."""
    return [head, *(f"- {line}" for line in lines)] if lines else [nothing]


def plural(count: int, what: str) -> str:
    """Return "1 step", "2 steps"."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def number(value: float) -> str:
    """Return a number in three significant digits, without an exponent where it reads well without."""
    value = float(value)
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.3g}"


def rounded(values: Sequence[float]) -> str:
    """Return numbers as (1, -0.25)."""
    return f"({', '.join(number(value) for value in values)})"


def role_of(roles: Sequence[str], agent: str, teammates: Sequence[str]) -> str:
    """Return the role of an agent; where there are more agents than roles, these begin again."""
    place = sorted([agent, *teammates], key=_natural).index(agent)
    return roles[place % len(roles)]


def _natural(name: str) -> tuple[str, int]:
    """ "agent_10" after "agent_9"."""
    text, digits = re.fullmatch(r"(.*?)(\d*)", name).groups()  # type: ignore[union-attr]
    return text, int(digits or 0)
