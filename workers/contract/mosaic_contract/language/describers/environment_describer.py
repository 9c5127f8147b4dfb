"""`EnvironmentDescriber`, which each family of environments makes, and text helpers for describers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

Observe = Callable[[Any, Mapping[str, Any]], str]


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
