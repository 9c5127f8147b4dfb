"""What a comparison and an evaluation are asked for alike, checked: all that is wrong is told at once.

Crosses the boundary: `asked`, from what the user typed to `Asked`, plain and right. Nothing is installed or
started here.
"""

from __future__ import annotations

import math
import operator
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mosaic_lab import workers
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.operators import OperatorSpec, as_operator, passive
from mosaic_lab.operators.availability import check_available
from mosaic_lab.operators.spec import as_json
from mosaic_lab.policies import DEFAULT
from mosaic_lab.problems import Problems
from mosaic_lab.warn import warn
from mosaic_lab.workers.families import family_of, same_environment

POLICIES = "policies"
"""The name of the lane that ``policies=`` makes."""
MOST_EPISODES = 1_000_000
"""Episodes, and so seeds, of one evaluation or comparison: all of them are known before the first begins."""
_LARGEST_SEED = 2**32 - 1
_NAMED = 10  # seeds in a text

Lanes = dict[str, dict[str, OperatorSpec]]
"""Each lane's name with its policy mapping. What was one object is one operator, in all lanes."""


@dataclass(frozen=True)
class Asked:
    """``family`` is the name of the worker that holds the environment; ``pass_env`` are the names of the
    variables that the environment and all operators are given."""

    env_id: str
    lanes: Lanes
    seeds: list[int]
    settings: dict[str, Any]
    max_steps: int | None
    step_timeout: float
    family: str
    pass_env: list[str]

    @property
    def operators(self) -> list[OperatorSpec]:
        """All of them, each once."""
        every = (spec for lane in self.lanes.values() for spec in lane.values())
        return list({id(spec): spec for spec in every}.values())

    def warn(self) -> None:
        """Warn of policies that were trained on another environment than they are to act in."""
        found = {
            f"{spec.name} was trained on {spec.trained_on} and acts in {self.env_id} here"
            for spec in self.operators
            if spec.trained_on is not None and not same_environment(spec.trained_on, self.env_id)
        }
        for text in sorted(found):
            warn(f"{text}: even where the spaces fit, they may differ", UserWarning)


def asked(
    problems: Problems,
    *,
    env: Any,
    operators: Any,
    policies: Any,
    seeds: Any,
    settings: Any,
    max_steps: Any,
    step_timeout: Any,
    family: Any,
    deadline: Any,
    fallback: Any,
    pass_env: Any,
    recorded: bool = False,
) -> Asked:
    """See `mosaic_lab.Lab.compare`. What cannot be is added to ``problems``, for the caller to look at.

    ``recorded``: language models answer from a recording, so that none of their keys need be set.
    """
    lanes = _lanes(operators, policies, _changes(deadline, fallback, problems), recorded, problems)
    if max_steps is not None:
        check_count("max_steps", max_steps, problems)
    limit = as_seconds(step_timeout)
    if not limit > 0:
        problems.add("step_timeout", f"step_timeout={step_timeout!r}: give seconds, more than 0")
    numbers = _seeds(seeds, problems)
    plain = _settings(settings, problems)
    variables = _variables(pass_env, problems)
    holder = _family(env, family, problems)
    found = Asked(env, lanes, numbers, plain, max_steps, limit, holder, variables)
    for worker in sorted({spec.worker for spec in found.operators if spec.worker is not None}):
        try:
            workers.info(worker)
        except MosaicError as error:
            problems.add("operators", str(error))
    return found


def check_seed(seed: Any) -> int:
    """A seed as every library takes it. Raises ConfigurationError."""
    try:
        number = operator.index(seed)
    except TypeError:
        number = -1
    if isinstance(seed, bool) or not 0 <= number <= _LARGEST_SEED:
        raise ConfigurationError(f"seed {seed!r}: give a whole number from 0 to {_LARGEST_SEED}")
    return number


def check_count(name: str, value: Any, problems: Problems) -> None:
    """Whether there can be so many of it."""
    if type(value) is not int or value < 1:
        problems.add(name, f"{name}={value!r}: give a whole number, 1 or more")


def as_seconds(value: Any) -> float:
    """A finite number as a float; NaN for anything else."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if known else math.nan


def _changes(deadline: Any, fallback: Any, problems: Problems) -> dict[str, Any]:
    """What is given in place of the operators' own."""
    changes = {}
    for name, value in (("deadline", deadline), ("fallback", fallback)):
        try:
            if value is not None:
                passive().with_(**{name: value})
                changes[name] = value
        except ConfigurationError as error:
            problems.add(name, str(error))
    return changes


def _lanes(
    operators: Any, policies: Any, changes: Mapping[str, Any], recorded: bool, problems: Problems
) -> Lanes:
    if problems.found and not operators and not policies:
        return {}  # a script, and it is known why it has none
    given = {} if operators is None and policies is not None else operators
    if not isinstance(given, Mapping) or (policies is None and not given):
        problems.add(
            "operators",
            f"operators={given!r:.200}: give names with their operators, such as "
            '{"PPO": operators.rl(run), "random": operators.random()}',
        )
        return {}
    made: dict[int, OperatorSpec] = {}
    lanes: Lanes = {}
    for label, value in given.items():
        if isinstance(label, str) and label.strip():
            mapping = value if isinstance(value, Mapping) else {DEFAULT: value}
            lanes[label] = _lane(label, f"operators.{label}", mapping, changes, recorded, made, problems)
        else:
            problems.add("operators", f"{label!r} is no name for a lane: give a text")
    if policies is not None:
        if POLICIES in lanes:
            problems.add("policies", f"operators has a lane {POLICIES!r} already: give that another name")
        elif not isinstance(policies, Mapping):
            problems.add(
                "policies",
                f"policies={policies!r:.200}: give {{agent, team or pattern: operator}}, such as "
                '{"red_*": operators.rl(run), "*": operators.random()}',
            )
        else:
            lanes[POLICIES] = _lane(POLICIES, "policies", policies, changes, recorded, made, problems)
    return lanes


def _lane(
    label: str,
    place: str,
    mapping: Mapping[Any, Any],
    changes: Mapping[str, Any],
    recorded: bool,
    made: dict[int, OperatorSpec],
    problems: Problems,
) -> dict[str, OperatorSpec]:
    """``made`` has, and gets, the operators by the identity of what they were made from."""
    if not mapping:
        problems.add(place, f'{label}: no operators are given; {{"{DEFAULT}": operators.random()}} is one')
    lane = {}
    for pattern, value in mapping.items():
        try:
            if not isinstance(pattern, str):
                raise ConfigurationError(f"{pattern!r} names no agent: give an id, a team or a pattern")
            if id(value) not in made:
                operator = as_operator(value).with_(**changes)
                if not (recorded and operator.is_recorded):
                    check_available(operator)
                    _check_variables(operator.name, operator.pass_env)
                if len(mapping) == 1 and operator.name == operator.worker:
                    operator = operator.with_(name=label)  # two of a kind draw different random numbers
                made[id(value)] = operator
            lane[pattern] = made[id(value)]
        except ConfigurationError as error:
            problems.add(f"{place}.{pattern}", f"{label}: {error}")
    return lane


def _variables(pass_env: Any, problems: Problems) -> list[str]:
    """The names in ``pass_env``, all of which are set."""
    try:
        names = passive().with_(pass_env=pass_env).pass_env
        _check_variables("the environment", names)
        return list(names)
    except ConfigurationError as error:
        problems.add("pass_env", str(error))
        return []


def _check_variables(whose: str, names: Iterable[str]) -> None:
    if missing := [name for name in names if name not in os.environ]:
        are = "is" if len(missing) == 1 else "are"
        raise ConfigurationError(
            f"pass_env of {whose} names {', '.join(missing)}, which {are} not set in this process"
        )


def _seeds(seeds: Any, problems: Problems) -> list[int]:
    if type(seeds) is int:
        several = f", or seeds=range({seeds}) for {seeds} of them" if seeds > 1 else ""
        problems.add("seeds", f"seeds={seeds}: write seeds=[{seeds}] for this seed{several}")
        return []
    if isinstance(seeds, str | bytes) or not isinstance(seeds, Iterable):
        problems.add("seeds", f"seeds={seeds!r}: give a list of whole numbers")
        return []
    numbers = []
    wrong = 0
    for seed in islice(seeds, MOST_EPISODES + 1):
        try:
            numbers.append(check_seed(seed))
        except ConfigurationError as error:
            problems.add("seeds", str(error))
            wrong += 1
            if wrong == _NAMED:
                return []
    if not numbers and not wrong:
        problems.add("seeds", "seeds is empty: give one at least")
    if len(numbers) > MOST_EPISODES:
        problems.add("seeds", f"seeds has more than {MOST_EPISODES:,} seeds")
    elif twice := sorted(number for number, times in Counter(numbers).items() if times > 1):
        more = f" and {len(twice) - _NAMED:,} others" if len(twice) > _NAMED else ""
        problems.add(
            "seeds",
            f"seeds holds {', '.join(map(str, twice[:_NAMED]))}{more} more than once: give each once. "
            "Several episodes on each are lab.evaluate's episodes=, on the very same environment with "
            'seed_sequence="fixed"',
        )
    return numbers


def _settings(settings: Any, problems: Problems) -> dict[str, Any]:
    try:
        return as_json("the environment", settings or {})
    except ConfigurationError as error:
        problems.add("settings", str(error))
        return {}


def _family(env: Any, family: Any, problems: Problems) -> str:
    if env is None and problems.found:
        return ""
    try:
        return family_of(env, family)
    except MosaicError as error:
        problems.add("env" if family is None else "family", str(error))
        return ""
