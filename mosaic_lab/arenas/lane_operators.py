"""The operators of every lane, from what the user gave: lane names with an operator or a policy mapping
each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic_lab.arenas.request_checks import check_variables
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.operators import OperatorSpec, as_operator, passive
from mosaic_lab.operators.availability import check_available
from mosaic_lab.policies import DEFAULT
from mosaic_lab.validation import Problems

POLICIES = "policies"
"""The name of the lane that ``policies=`` makes."""


class LaneOperators:
    """``operators`` by a key, ``lanes`` as {label: {agent, team or pattern: key}}.

    What was one object is one operator, in all lanes. ``deadline`` and ``fallback`` replace the operators'
    own where they are given; ``recorded``: language models answer from a recording and need no key.
    """

    def __init__(self, problems: Problems, deadline: Any, fallback: Any, recorded: bool) -> None:
        self.operators: dict[str, OperatorSpec] = {}
        self.lanes: dict[str, dict[str, str]] = {}
        self._problems = problems
        self._recorded = recorded
        self._changes = self._checked_changes(deadline=deadline, fallback=fallback)
        self._keys: dict[int, str] = {}  # by the identity of what an operator was made from

    def add_lanes(self, operators: Any, policies: Any) -> None:
        """Add a lane for each of ``operators``, and one for ``policies`` where it is given."""
        if self._problems.found and not operators and not policies:
            return  # a script, whose lack of operators is a problem already
        given = {} if operators is None and policies is not None else operators
        if not isinstance(given, Mapping) or (policies is None and not given):
            self._problems.add(
                "operators",
                f"operators={given!r:.200}: give names with their operators, such as "
                '{"PPO": operators.rl(run), "random": operators.random()}',
            )
            return
        for label, value in given.items():
            if isinstance(label, str) and label.strip():
                self._add_lane(
                    label, f"operators.{label}", value if isinstance(value, Mapping) else {DEFAULT: value}
                )
            else:
                self._problems.add("operators", f"{label!r} is not a valid name for a lane: give a string")
        if policies is not None:
            self._add_policies(policies)

    def _add_policies(self, policies: Any) -> None:
        if POLICIES in self.lanes:
            self._problems.add(
                "policies", f"operators has a lane {POLICIES!r} already: give that another name"
            )
        elif not isinstance(policies, Mapping):
            self._problems.add(
                "policies",
                f"policies={policies!r:.200}: give {{agent, team or pattern: operator}}, such as "
                '{"red_*": operators.rl(run), "*": operators.random()}',
            )
        else:
            self._add_lane(POLICIES, "policies", policies)

    def _add_lane(self, label: str, place: str, mapping: Mapping[Any, Any]) -> None:
        if not mapping:
            self._problems.add(
                place, f'{label}: no operators are given; {{"{DEFAULT}": operators.random()}} is one'
            )
        lane = self.lanes[label] = {}
        for pattern, value in mapping.items():
            try:
                if not isinstance(pattern, str):
                    raise ConfigurationError(f"{pattern!r} names no agent: give an id, a team or a pattern")
                lane[pattern] = self._key_of(value, label, alone=len(mapping) == 1)
            except ConfigurationError as error:
                self._problems.add(f"{place}.{pattern}", f"{label}: {error}")

    def _key_of(self, value: Any, label: str, alone: bool) -> str:
        """Return the key of an operator, which is made from ``value`` where it is new."""
        if id(value) not in self._keys:
            operator = as_operator(value).with_(**self._changes)
            if not (self._recorded and operator.is_recorded):
                check_available(operator)
                check_variables(operator.name, operator.pass_env)
            if alone and operator.name == operator.worker:
                operator = operator.with_(name=label)  # two of a kind draw different random numbers
            key = self._keys[id(value)] = str(len(self._keys) + 1)
            self.operators[key] = operator
        return self._keys[id(value)]

    def _checked_changes(self, **given: Any) -> dict[str, Any]:
        changes = {}
        for name, value in given.items():
            try:
                if value is not None:
                    passive().with_(**{name: value})
                    changes[name] = value
            except ConfigurationError as error:
                self._problems.add(name, str(error))
        return changes
