"""Facts about an environment, sent to the kernel at "open" and to operators when they are seated.

A shim provides `EnvironmentFacts` for each agent if it knows more than the environment declares. Keys have
the names used by browsers (`KeyboardEvent.key`: "ArrowLeft", " ", "a").
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Callable, Mapping, Sequence

from mosaic_contract.arena.actions import ActionRules
from mosaic_contract.arena.environment_adapters import EnvironmentAdapter
from mosaic_contract.arrays import pack
from mosaic_contract.spaces import describe_space

_DIGITS = "0123456789"
_ARROWS = (("ArrowLeft", "ArrowRight"), ("ArrowDown", "ArrowUp"))
_LETTERS = tuple(zip("asdfghjkl;", "qwertyuiop"))
"""Keys for the numbers of a Box: one sets a number to its lower bound, the other to its upper bound."""
_NUMBERED = re.compile(r"(.+?)[_ -]?\d+")
_NEUTRAL_KEY = " "


@dataclass(frozen=True)
class EnvironmentFacts:
    """Facts about one agent.

    `action_meanings` names each action, or each number of an action with several (None: unknown), `keys` maps
    keys to actions (None: the usual keys), and `team` is the agent's team (None: derived from agent ids; "":
    no teammates).

    `instructions`: a description of the task, for operators that read. `describe`: returns the state as known
    to this agent, as a JSON-serializable dict such as {"text": …}; it is called before the agent acts, if its
    operator needs a description. `packages`: packages whose versions are recorded in addition to those of the
    environment's classes.
    """

    action_meanings: Sequence[str] | None = None
    keys: Mapping[str, Any] | None = None
    team: str | None = None
    instructions: str = ""
    describe: Callable[[], Mapping[str, Any]] | None = None
    packages: Sequence[str] = ()


FactsOf = Callable[[Any, str], EnvironmentFacts]


class EnvironmentDescription:
    """Facts and rules of every agent. The shim's `facts_of` may raise any exception."""

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
        self._teams = _teams_of(environment.agents, self.facts) if len(environment.agents) > 1 else {}

    def opened(self, render_problem: str | None, versions: Mapping[str, str]) -> dict[str, Any]:
        """Return the answer to "open". `versions` are added to the versions of the environment's packages."""
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
            "renders": render_problem is None,
            "render_reason": render_problem or "",
            "versions": {**versions, **self.versions()},
        }

    def versions(self) -> dict[str, str]:
        """Return the versions of Python and of the environment's packages."""
        return _versions(
            self._environment, [name for facts in self.facts.values() for name in facts.packages]
        )

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
        """Return the other agents of an agent's team; all others if there are no teams, none if it plays for
        itself."""
        if self.facts[agent].team == "":
            return []
        teams = self._teams or {"all": self._environment.agents}
        team = next((members for members in teams.values() if agent in members), [])
        return [other for other in team if other != agent]

    def state(self, agent: str) -> Mapping[str, Any]:
        """Return the state as described to an agent; empty if it cannot be described."""
        try:
            return (self.facts[agent].describe or dict)()
        except Exception:  # environments raise arbitrary exceptions
            return {}

    def named_actions(self, agent: str) -> Mapping[str, Any]:
        """Return an agent's actions by name: only the legal ones if the state lists them. Empty if actions
        have no names."""
        if moves := self.state(agent).get("legal_moves"):
            return moves
        start = self.rules[agent].described.get("start", 0)
        return {name: start + index for index, name in enumerate(self.facts[agent].action_meanings or ())}

    def _meanings(self, agent: str) -> list[str] | None:
        meanings = self.facts[agent].action_meanings
        return None if meanings is None else list(meanings)

    def _keys(self, agent: str) -> Any:
        keys = self.facts[agent].keys
        return pack(_default_keys(self.rules[agent].described) if keys is None else dict(keys))


def _default_keys(space: Mapping[str, Any]) -> dict[str, Any]:
    """Return default keys for a described action space: digits for a few choices, arrows for one or two
    numbers."""
    kind = space.get("type")
    if kind == "Discrete" and space["n"] <= len(_DIGITS):
        start = space.get("start", 0)
        return {_DIGITS[index]: start + index for index in range(space["n"])}
    if kind == "Box" and len(space["shape"]) == 1 and space["shape"][0]:
        lows, highs = (_finite_bounds(space[name], space["shape"][0]) for name in ("low", "high"))
        return _number_keys(_ARROWS, lows, highs)
    return {}


def _teams_of(agents: Sequence[str], facts: Mapping[str, EnvironmentFacts]) -> dict[str, list[str]]:
    """Return the agents by team: the team named in the facts, else the prefix of their ids ("adversary_0":
    adversary). Ids without a number belong to no team."""
    teams: dict[str, list[str]] = {}
    for agent in agents:
        declared_team, match = facts[agent].team, _NUMBERED.fullmatch(agent)
        team = declared_team if declared_team is not None else match and match.group(1)
        if team:
            teams.setdefault(team, []).append(agent)
    return teams


def _finite_bounds(bound: Any, size: int) -> list[float]:
    """Return one bound for each element; 1 or -1 for unbounded elements."""
    numbers = bound if isinstance(bound, list) else [bound] * size
    unbounded = {"Infinity": 1.0, "-Infinity": -1.0}
    return [unbounded[number] if isinstance(number, str) else float(number) for number in numbers]


def _versions(environment: EnvironmentAdapter, packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of Python, NumPy, the packages of the environment's classes, and `packages`."""
    inner: Any = environment.env
    classes = [*type(inner).__mro__, *type(getattr(inner, "unwrapped", inner)).__mro__]
    versions = {"python": sys.version.partition(" ")[0]}
    modules = [cls.__module__.partition(".")[0] for cls in classes]
    for package in dict.fromkeys(["numpy", *modules, *packages]):
        for name in (package, package.replace("_", "-")):
            try:
                versions[name] = metadata.version(name)
                break
            except metadata.PackageNotFoundError:
                continue
    return versions


def facts_of_joints(names: Sequence[str], space: Any, task: str, package: str) -> EnvironmentFacts:
    """Return the facts of an environment whose Box actions have one number for each name. `task` describes
    the task, `package` is the physics package."""
    names = list(names) if len(names) == space.shape[0] else [f"number {n}" for n in range(space.shape[0])]
    lows, highs = space.low.tolist(), space.high.tolist()
    return EnvironmentFacts(
        action_meanings=names,
        keys=_number_keys(_LETTERS, lows, highs, _NEUTRAL_KEY) if len(names) > len(_ARROWS) else None,
        instructions=f"{task} An action is {len(names)} numbers, in order: {_ranges(names, lows, highs)}.",
        packages=(package,),
    )


def _number_keys(
    pairs: Sequence[tuple[str, str]], lows: Sequence[float], highs: Sequence[float], neutral_key: str = ""
) -> dict[str, list[float]]:
    """Return the actions by key: each pair of keys sets one number to its bounds and the others to 0, or the
    bound nearest to it, as the neutral key does for all."""
    neutral = [min(max(0.0, low), high) for low, high in zip(lows, highs)]
    keys = {neutral_key: neutral} if neutral_key else {}
    for index, pair in enumerate(pairs[: len(neutral)]):
        for key, bounds in zip(pair, (lows, highs)):
            keys[key] = [*neutral[:index], bounds[index], *neutral[index + 1 :]]
    return keys


def _ranges(names: Sequence[str], lows: Sequence[float], highs: Sequence[float]) -> str:
    return ", ".join(f"{name} ({low:g} to {high:g})" for name, low, high in zip(names, lows, highs))
