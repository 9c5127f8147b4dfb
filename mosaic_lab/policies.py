"""Policy mapping: which operator acts for which agent."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import count, permutations
from typing import Any, Protocol

from mosaic_contract.space_compatibility import misfit, settings_advice, text_of

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import OperatorSpec, as_operator
from mosaic_lab.text_table import text_table

DEFAULT = "*"
"""The key for all agents not matched by other keys."""

_MAX_KEY = 40  # characters
_MAX_REASONS = 3
_MAX_LABELS = 3  # lanes named beside a shared reason


class Facts(Protocol):
    """An arena's agent ids, spaces ({"observation", "action"}, as descriptions) and teams."""

    @property
    def agents(self) -> Sequence[str]: ...
    @property
    def spaces(self) -> Mapping[str, Mapping[str, Any]]: ...
    @property
    def teams(self) -> Mapping[str, Sequence[str]]: ...


@dataclass(frozen=True)
class Assignment:
    """Operators by key (a valid file name), and the key of each agent. Agents with the same key form a link
    group: one operator and process, which distinguishes them by their ids."""

    operators: dict[str, OperatorSpec]
    seats: dict[str, str]

    def agents_of(self, key: str) -> list[str]:
        """Return the agents of an operator."""
        return [agent for agent, agent_key in self.seats.items() if agent_key == key]


def assign(mapping: Any, facts: Facts) -> Assignment:
    """Assign an operator to each agent.

    ``mapping`` is one operator for all agents, or {agent id, team name, pattern ("red_*"): operator}, with
    "*" as the default. The same operator object under several keys is one operator for all of their agents.
    Other values become operators by `as_operator`.

    Raises ConfigurationError with all problems and a table: agents without an operator or with two, keys that
    match no agent, and policies trained for other spaces.
    """
    operators = _operators(mapping)
    named, problems = _named(operators, facts)
    chosen = {agent: operators[keys[0]] for agent, keys in named.items() if len(keys) == 1}
    problems += _misfits(chosen, facts)
    if problems:
        raise ConfigurationError("\n".join([*problems, "", _table(operators, named, facts)]))
    keys = _keys(chosen.values())
    return Assignment(
        operators={keys[id(operator)]: operator for operator in chosen.values()},
        seats={agent: keys[id(operator)] for agent, operator in chosen.items()},
    )


def check_lanes(lanes: Mapping[str, Mapping[str, OperatorSpec]], facts: Facts) -> None:
    """Raise ConfigurationError, as `assign` does, if mappings of ``lanes`` are unusable."""
    refused: dict[str, ConfigurationError] = {}
    for label, mapping in lanes.items():
        try:
            assign(mapping, facts)
        except ConfigurationError as error:
            refused[label] = error
    if refused:
        players = {operator.name for mapping in lanes.values() for operator in mapping.values()}
        raise ConfigurationError(refusals_text(refused, players))


def refusals_text(refused: Mapping[str, ConfigurationError], players: Iterable[str] = ()) -> str:
    """Return why the mappings of lanes are refused; lanes with the same reason share an entry. Reasons that
    differ only in the names of ``players``, such as the checkpoints of a league, count as the same."""
    names = re.compile("|".join([*map(re.escape, sorted(players, key=len, reverse=True)), r"[\s─-]+"]))
    reasons: dict[str, list[str]] = {}
    for label, error in refused.items():
        reasons.setdefault(names.sub("", str(error)), []).append(label)
    listed = [(str(refused[labels[0]]), labels) for labels in list(reasons.values())[:_MAX_REASONS]]
    texts = [f"{_labels(labels)}: {reason}" for reason, labels in listed]
    if more := len(refused) - sum(len(labels) for _, labels in listed):
        texts.append(f"… and the like for {more} more")
    return "\n\n".join(texts)


def _labels(labels: Sequence[str]) -> str:
    named = ", ".join(labels[:_MAX_LABELS])
    return named if len(labels) <= _MAX_LABELS else f"{named} and {len(labels) - _MAX_LABELS} more"


def pairings(players: Mapping[str, Any], agents: Sequence[str]) -> dict[str, dict[str, OperatorSpec]]:
    """Return a round robin of players, each pair on both sides, as ``operators`` for `Lab.evaluate`.

    ``players`` are operators by name, ``agents`` the two sides: agent ids, team names or patterns. The result
    is ``{"a against b": {side 1: a, side 2: b}, "b against a": …}``; operators are named after their players,
    so that `Evaluation.games` and `Evaluation.ratings` distinguish them. Raises ConfigurationError for fewer
    than two players or a number of sides other than two.
    """
    if not isinstance(players, Mapping) or len(players) < 2:
        raise ConfigurationError(
            f"a game needs at least two players: pass {{name: operator}}, not {players!r}"
        )
    if isinstance(agents, str) or len(set(agents)) != 2:
        raise ConfigurationError(f"a game has two sides: give two agents, teams or patterns, not {agents!r}")
    named = {name: as_operator(player).with_(name=name) for name, player in players.items()}
    left, right = agents
    return {
        f"{first} against {second}": {left: named[first], right: named[second]}
        for first, second in permutations(named, 2)
    }


def _operators(mapping: Any) -> dict[str, OperatorSpec]:
    """Return the user's mapping with values converted to operators; equal objects stay identical."""
    if not isinstance(mapping, Mapping):
        return {DEFAULT: as_operator(mapping)}
    if not mapping:
        raise ConfigurationError(
            f'no operators given: pass {{"{DEFAULT}": operators.random()}} for all agents'
        )
    operators: dict[int, OperatorSpec] = {}
    for key, value in mapping.items():
        if not isinstance(key, str):
            raise ConfigurationError(f"{key!r} names no agent: keys are agent ids, team names or patterns")
        operators.setdefault(id(value), as_operator(value))
    return {key: operators[id(value)] for key, value in mapping.items()}


def _named(operators: Mapping[str, OperatorSpec], facts: Facts) -> tuple[dict[str, list[str]], list[str]]:
    """Return the keys that match each agent, and any problems."""
    named: dict[str, list[str]] = {agent: [] for agent in facts.agents}
    problems = []
    for key in operators:
        agents = _named_by(key, facts) if key != DEFAULT else []
        if not agents and key != DEFAULT:
            problems.append(_unknown(key, facts))
        for agent in agents:
            named[agent].append(key)
    for agent, keys in named.items():
        if len(keys) > 1:
            names = " and ".join(repr(key) for key in keys)
            problems.append(f"{agent} has {len(keys)} operators, by the keys {names}: keep only one of them")
        elif not keys and DEFAULT in operators:
            keys.append(DEFAULT)
    if missing := [agent for agent, keys in named.items() if not keys]:
        problems.append(
            f"no operator for {', '.join(missing)}: name {'it' if len(missing) == 1 else 'them'}, or give "
            f'"{DEFAULT}" for all that are not named'
        )
    return named, problems


def _named_by(key: str, facts: Facts) -> list[str]:
    """Return the agents matched by a key: an agent id, else a team, else a pattern."""
    if key in facts.agents:
        return [key]
    if key in facts.teams:
        return list(facts.teams[key])
    return [agent for agent in facts.agents if fnmatchcase(agent, key)]


def _unknown(key: str, facts: Facts) -> str:
    if any(sign in key for sign in "*?["):
        return f"the pattern {key!r} fits none of the agents"
    near = difflib.get_close_matches(key, [*facts.agents, *facts.teams], n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    teams = "; ".join(f"{team}: {', '.join(agents)}" for team, agents in facts.teams.items())
    possible = f"the agents are {', '.join(facts.agents)}" + (f" (teams: {teams})" if teams else "")
    return f"{key!r} names no agent{hint}: {possible}"


def _misfits(chosen: Mapping[str, OperatorSpec], facts: Facts) -> Iterator[str]:
    advice: dict[str, None] = {}
    for agent, operator in chosen.items():
        try:
            trained = operator.spaces_for(agent)
        except KeyError:
            yield (
                f"{operator.name} has no policy for {agent}: its checkpoint has those of "
                f"{', '.join(operator.agents or ())}"
            )
            continue
        if trained is None:
            continue
        spaces = facts.spaces[agent]
        for role, expected, offered in zip(("observation", "action"), trained, _pair(spaces), strict=True):
            if text := misfit(expected, offered, f"{role}s"):
                environment = f" in {operator.trained_on}" if operator.trained_on else ""
                yield f"{operator.name} cannot act for {agent}: its {text}{environment}"
                advice |= dict.fromkeys(settings_advice(operator.name, operator.env_settings))
    yield from advice


def _pair(spaces: Mapping[str, Any]) -> tuple[Any, Any]:
    return spaces["observation"], spaces["action"]


def _table(operators: Mapping[str, OperatorSpec], named: Mapping[str, Sequence[str]], facts: Facts) -> str:
    """Return the table of all agents with their spaces and their operators."""
    rows = [("agent", "observation", "action", "operator")]
    for agent, keys in named.items():
        operator = " or ".join(operators[key].name for key in keys) + ("?" if len(keys) > 1 else "")
        observation, action = map(text_of, _pair(facts.spaces[agent]))
        rows.append((agent, observation, action, operator or "none"))
    return text_table(rows)


def _keys(operators: Iterable[OperatorSpec]) -> dict[int, str]:
    """Return a key for each operator (by identity), derived from its name: "ppo", then "ppo-2"."""
    keys: dict[int, str] = {}
    for operator in operators:
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", operator.name).strip("-.")[:_MAX_KEY] or operator.category
        names = (name if number == 1 else f"{name}-{number}" for number in count(1))
        if id(operator) not in keys:
            keys[id(operator)] = next(candidate for candidate in names if candidate not in keys.values())
    return keys
