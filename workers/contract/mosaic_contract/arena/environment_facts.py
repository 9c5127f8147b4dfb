"""Facts about an environment beside its spaces: what actions mean, which keys choose them, the teams.

A shim gives `EnvironmentFacts` for each agent where it knows more than the environment says of itself; keys
are the names that browsers give them (`KeyboardEvent.key`: "ArrowLeft", " ", "a").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

_DIGITS = "0123456789"
_ARROWS = (("ArrowLeft", "ArrowRight"), ("ArrowDown", "ArrowUp"))  # lower and raise one number of a Box
_NUMBERED = re.compile(r"(.+?)[_ -]?\d+")


@dataclass(frozen=True)
class EnvironmentFacts:
    """Facts about one agent: a name for each action (None: not known), an action for each key (None: the
    usual ones), and its team (None: derived from the agents' ids; "": it plays for itself, without
    teammates).

    `instructions`: what the environment is about, for operators that read. `describe`: returns the state as
    this agent may know it, as a dict that can be sent as JSON, such as {"text": …}; it is called before the
    agent acts, where its operator needs a description.
    """

    action_meanings: Sequence[str] | None = None
    keys: Mapping[str, Any] | None = None
    team: str | None = None
    instructions: str = ""
    describe: Callable[[], Mapping[str, Any]] | None = None


def usual_keys(space: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys for a described action space: digits for a few choices, arrows for one or two numbers."""
    kind = space.get("type")
    if kind == "Discrete" and space["n"] <= len(_DIGITS):
        start = space.get("start", 0)
        return {_DIGITS[index]: start + index for index in range(space["n"])}
    if kind == "Box" and len(space["shape"]) == 1 and space["shape"][0]:
        return _arrows(space, space["shape"][0])
    return {}


def teams_of(agents: Sequence[str], facts: Mapping[str, EnvironmentFacts]) -> dict[str, list[str]]:
    """Return the agents by team: the one that the facts name, else what their ids begin with
    ("adversary_0": adversary); an id without a number is in no team."""
    teams: dict[str, list[str]] = {}
    for agent in agents:
        known, numbered = facts[agent].team, _NUMBERED.fullmatch(agent)
        team = known if known is not None else numbered and numbered.group(1)
        if team:
            teams.setdefault(team, []).append(agent)
    return teams


def _arrows(space: Mapping[str, Any], size: int) -> dict[str, Any]:
    bounds = {name: _bounds(space[name], size) for name in ("low", "high")}
    rest = [min(max(0.0, low), high) for low, high in zip(bounds["low"], bounds["high"])]
    keys = {}
    for index, pair in enumerate(_ARROWS[:size]):
        for key, bound in zip(pair, ("low", "high")):
            keys[key] = [*rest[:index], bounds[bound][index], *rest[index + 1 :]]
    return keys


def _bounds(bound: Any, size: int) -> list[float]:
    """Return one number for each place; 1 and -1 where there is no bound."""
    numbers = bound if isinstance(bound, list) else [bound] * size
    return [_finite(number) for number in numbers]


def _finite(number: Any) -> float:
    if isinstance(number, str):  # "Infinity", "-Infinity"
        return -1.0 if number.startswith("-") else 1.0
    return float(number)
