"""The planning of a comparison from its request: everything is checked before anything starts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from operator import index
from typing import Any

from mosaic_contract import ConfigError
from mosaic_contract.arena.start import Start
from mosaic_contract.codec import with_tagged_tuples, with_tuples
from msgspec import structs

from mosaic_lab import workers
from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.arenas.request import MAX_EPISODES, CompareRequest
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.operators import OperatorSpec, as_operator, passive
from mosaic_lab.operators.chess_players import engine_problem
from mosaic_lab.operators.providers import missing_key
from mosaic_lab.operators.spec import Fallback, as_json
from mosaic_lab.policies import DEFAULT
from mosaic_lab.validation import Problems, no_seeds
from mosaic_lab.workers.families import family_of, same_environment

POLICIES = "policies"
"""The name of the lane created by ``policies=``."""
_MAX_SEED = 2**32 - 1
_NAMED = 10  # seeds in a message


def plan_arenas(request: CompareRequest, problems: Problems, recorded: bool = False) -> ArenaPlan:
    """Return the plan of a request, without installing or starting anything.

    All problems are added to ``problems``; the plan is valid if there are none. ``recorded``: language models
    answer from a recording, so their keys need not be set.
    """
    request = request.checked(problems)
    if request.start is not None:
        request = structs.replace(request, start=_check_start(request.start, problems))
    lanes = LaneOperators(problems, request.deadline, request.fallback, recorded)
    lanes.add_lanes(request.operators, request.policies)
    plan = ArenaPlan(
        request=request,
        env_id=request.env or "",
        operators=lanes.operators,
        lanes=lanes.lanes,
        seeds=_check_seeds(request.seeds, problems),
        settings=_settings(request, lanes.operators.values(), problems),
        pass_env_vars=_check_pass_env_vars(request.pass_env_vars, problems),
        family=_check_family(request.env, request.family, problems),
    )
    for worker in sorted({spec.worker for spec in lanes.operators.values() if spec.worker is not None}):
        try:
            workers.info(worker)
        except MosaicError as error:
            problems.add("operators", str(error))
    return plan


def _settings(
    request: CompareRequest, operators: Iterable[OperatorSpec], problems: Problems
) -> dict[str, Any]:
    """Return the environment's keyword arguments: ``env_kwargs``, else those of its policies' training."""
    if request.env_kwargs is not None or request.env is None:
        return _check_env_kwargs(request.env_kwargs, problems)
    trained = [
        (spec.name, dict(spec.env_settings))
        for spec in operators
        if spec.trained_on is not None and same_environment(spec.trained_on, request.env)
    ]
    if any(settings != trained[0][1] for _, settings in trained):
        listed = ", ".join(f"{name} with {with_tuples(settings)!r:.200}" for name, settings in trained)
        problems.add(
            "env_kwargs",
            f"policies were trained with different keyword arguments of {request.env} ({listed}): give "
            "those to play with as env_kwargs=",
        )
    return trained[0][1] if trained else {}


class LaneOperators:
    """Collects ``operators`` by key, and ``lanes`` as {label: {agent, team or pattern: key}}.

    The same object is the same operator in all lanes. ``deadline`` and ``fallback`` override the operators'
    own. ``recorded``: whether language models answer from a recording and need no key.
    """

    def __init__(
        self, problems: Problems, deadline: float | None, fallback: Fallback | None, recorded: bool
    ) -> None:
        self.operators: dict[str, OperatorSpec] = {}
        self.lanes: dict[str, dict[str, str]] = {}
        self._problems = problems
        self._recorded = recorded
        changes = {"deadline": deadline, "fallback": fallback}
        self._changes = {name: value for name, value in changes.items() if value is not None}
        self._keys: dict[int, str] = {}  # by the id of the object from which an operator was made

    def add_lanes(self, operators: Any, policies: Any) -> None:
        """Add a lane for each of ``operators``, and one for ``policies`` if given."""
        if self._problems.found and not operators and not policies:
            return  # a script without operators is already a problem
        by_name = {} if operators is None and policies is not None else operators
        if not isinstance(by_name, Mapping) or (policies is None and not by_name):
            self._problems.add(
                "operators",
                f"operators={by_name!r:.200}: must map names to operators, such as "
                '{"PPO": operators.rl(run), "random": operators.random()}',
            )
            return
        for label, value in by_name.items():
            if isinstance(label, str) and label.strip():
                self._add_lane(
                    label, f"operators.{label}", value if isinstance(value, Mapping) else {DEFAULT: value}
                )
            else:
                self._problems.add(
                    "operators", f"{label!r} is not a valid lane name: it must be a non-empty string"
                )
        if policies is not None:
            self._add_policies(policies)

    def _add_policies(self, policies: Any) -> None:
        if POLICIES in self.lanes:
            self._problems.add("policies", f"operators already has a lane {POLICIES!r}: rename that lane")
        elif not isinstance(policies, Mapping):
            self._problems.add(
                "policies",
                f"policies={policies!r:.200}: must map agents, teams or patterns to operators, such as "
                '{"red_*": operators.rl(run), "*": operators.random()}',
            )
        else:
            self._add_lane(POLICIES, "policies", policies)

    def _add_lane(self, label: str, field: str, mapping: Mapping[Any, Any]) -> None:
        if not mapping:
            self._problems.add(
                field, f'{label}: no operators given: pass one, such as {{"{DEFAULT}": operators.random()}}'
            )
        lane = self.lanes[label] = {}
        for pattern, value in mapping.items():
            try:
                if not isinstance(pattern, str):
                    raise ConfigurationError(
                        f"{pattern!r} is not a valid key: it must be an agent id, a team or a pattern"
                    )
                lane[pattern] = self._key_of(value, label, alone=len(mapping) == 1)
            except ConfigurationError as error:
                self._problems.add(f"{field}.{pattern}", f"{label}: {error}")

    def _key_of(self, value: Any, label: str, alone: bool) -> str:
        """Return the key of an operator, creating the operator from ``value`` if new."""
        if id(value) not in self._keys:
            operator = as_operator(value).with_(**self._changes)
            if not (self._recorded and operator.is_recorded):
                _check_available(operator)
                _check_variables(operator.name, operator.pass_env_vars)
            if alone and operator.name == operator.worker:
                operator = operator.with_(name=label)  # so that two of a kind draw different random numbers
            key = self._keys[id(value)] = str(len(self._keys) + 1)
            self.operators[key] = operator
        return self._keys[id(value)]


def _check_available(operator: OperatorSpec) -> None:
    """Raise ConfigurationError if the key of its endpoint is not set, or its engine is not installed or does
    not support the requested Elo."""
    for name in operator.pass_env_vars:
        if name not in os.environ and (text := missing_key(operator, name)):
            raise ConfigurationError(text)
    if operator.category == "engine" and (text := engine_problem(operator.settings)):
        raise ConfigurationError(text)


def check_seed(seed: Any) -> int:
    """Return a seed that every library accepts. Raises ConfigurationError."""
    try:
        number = index(seed)
    except TypeError:
        number = -1
    if isinstance(seed, bool) or not 0 <= number <= _MAX_SEED:
        raise ConfigurationError(f"seed {seed!r}: must be an integer from 0 to {_MAX_SEED}")
    return number


def _check_seeds(seeds: Any, problems: Problems) -> list[int]:
    if isinstance(seeds, str | bytes) or not isinstance(seeds, Iterable):
        problems.add("seeds", no_seeds(seeds))
        return []
    numbers = []
    wrong = 0
    for seed in islice(seeds, MAX_EPISODES + 1):
        try:
            numbers.append(check_seed(seed))
        except ConfigurationError as error:
            problems.add("seeds", str(error))
            wrong += 1
            if wrong == _NAMED:
                return []
    if not numbers and not wrong:
        problems.add("seeds", "seeds is empty: give at least one")
    if len(numbers) > MAX_EPISODES:
        problems.add("seeds", f"seeds has more than {MAX_EPISODES:,} seeds, the maximum")
    elif twice := sorted(number for number, times in Counter(numbers).items() if times > 1):
        omitted = f" and {len(twice) - _NAMED:,} others" if len(twice) > _NAMED else ""
        problems.add(
            "seeds",
            f"seeds has duplicates: {', '.join(map(str, twice[:_NAMED]))}{omitted}. "
            "For several episodes per seed use lab.evaluate's episodes=; "
            'seed_sequence="fixed" repeats the same environment',
        )
    return numbers


def _check_env_kwargs(env_kwargs: Any, problems: Problems) -> dict[str, Any]:
    try:
        return as_json("the environment", with_tagged_tuples(env_kwargs or {}))
    except ConfigurationError as error:
        problems.add("env_kwargs", str(error))
        return {}


def _check_start(start: Any, problems: Problems) -> Any:
    """Return where episodes begin, in its JSON form."""
    try:
        start = as_json("start", {"start": list(start) if isinstance(start, tuple) else start})["start"]
        Start.of(start)
        return start
    except (ConfigError, ConfigurationError) as error:
        problems.add("start", str(error))
        return None


def _check_family(env: Any, family: Any, problems: Problems) -> str:
    if env is None and problems.found:
        return ""
    try:
        return family_of(env, family)
    except MosaicError as error:
        problems.add("env" if family is None else "family", str(error))
        return ""


def _check_pass_env_vars(pass_env_vars: Any, problems: Problems) -> list[str]:
    """Return the names in ``pass_env_vars``; each must be set in this process."""
    try:
        names = passive().with_(pass_env_vars=pass_env_vars).pass_env_vars
        _check_variables("the environment", names)
        return list(names)
    except ConfigurationError as error:
        problems.add("pass_env_vars", str(error))
        return []


def _check_variables(owner: str, names: Iterable[str]) -> None:
    """Raise ConfigurationError if a variable is not set in this process."""
    if missing := [name for name in names if name not in os.environ]:
        are = "is" if len(missing) == 1 else "are"
        raise ConfigurationError(
            f"pass_env_vars of {owner} names {', '.join(missing)}, which {are} not set in this process"
        )
