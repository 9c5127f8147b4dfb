"""`EnvironmentDescriber`, created by each family of environments, and text helpers for describers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

Observe = Callable[[Any, Mapping[str, Any]], str]
ANY_TEAM = (
    "You lead: go for the goal yourself, by the shortest way.",
    "You support: do what your teammates leave undone, and keep out of their way.",
)
"""Roles for teams in environments without roles of their own."""


@dataclass(frozen=True)
class EnvironmentDescriber:
    """The description of an environment for one agent.

    `rules` describe the task, `advice` the strategy, `role` this agent's role in its team. `names` are names
    of the actions (None: the environment's). `observe` converts an observation and the environment's
    description of the state to text; it may raise any error for an unexpected observation. `observe_other`
    does the same for another agent's observation, in the third person, with that agent's description.
    `shares`: whether this agent may see other agents' observations; False if the rules hide them.
    """

    rules: str
    observe: Observe
    observe_other: Observe | None = None
    advice: str = ""
    role: str = ""
    names: Sequence[str] | None = None
    shares: bool = True


def bullets(head: str, lines: Sequence[str], nothing: str) -> list[str]:
    """Return a heading with a line for each entry; `nothing` if there are none."""
    return [head, *(f"- {line}" for line in lines)] if lines else [nothing]


def plural(count: int, noun: str) -> str:
    """Return "1 step", "2 steps"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def number(value: float) -> str:
    """Return a number with three significant digits, without an exponent if it is readable without."""
    value = float(value)
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.3g}"


def rounded(values: Sequence[float]) -> str:
    """Return numbers in the form (1, -0.25)."""
    return f"({', '.join(number(value) for value in values)})"


def role_of(roles: Sequence[str], agent: str, teammates: Sequence[str]) -> str:
    """Return the role of an agent; roles repeat if there are more agents than roles."""
    index = sorted([agent, *teammates], key=_natural).index(agent)
    return roles[index % len(roles)]


def _natural(name: str) -> tuple[str, int]:
    """Return a sort key that places "agent_10" after "agent_9"."""
    text, digits = re.fullmatch(r"(.*?)(\d*)", name).groups()  # type: ignore[union-attr]
    return text, int(digits or 0)
