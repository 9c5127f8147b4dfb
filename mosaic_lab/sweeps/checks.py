"""Validation of a sweep against the worker's table of hyperparameters, before anything starts."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from mosaic_contract.config import nearest
from mosaic_contract.hyperparameters import Parameter, converted

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.sweeps.request import SweepRequest
from mosaic_lab.sweeps.space import Choice, Distribution, Range, Space
from mosaic_lab.telemetry.metrics import COMMON_NAMES, RETURN_NAMES
from mosaic_lab.validation import Problems

MAX_EXAMPLES = 200
"""Maximum number of examples from a search function, whose choices may have any number of values."""
_TYPES = {type_.__name__: type_ for type_ in (int, float, bool, str, list, dict)}
_TYPO = 0.9  # minimum similarity of a misspelt metric: one or two letters differ
_KEYWORD = 0.75  # minimum similarity of a misspelt keyword
_PARAMETER_FIELDS = [field.name for field in fields(Parameter)]

Rows = Mapping[str, Mapping[str, Any]]
"""A worker's hyperparameters of one algorithm by name; empty if it has no table."""


class Example:
    """Suggests the values of one example trial. Together, the examples cover both ends of all ranges and
    every choice.

    Args:
        number: even numbers give the low ends of ranges, odd ones the high ends; every two numbers give the
            next choice.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self.max_choices = 1
        """The length of the longest list it has chosen from."""

    def suggest(self, name: str, distribution: Distribution) -> Any:
        if isinstance(distribution, Range):
            return distribution.high if self._number % 2 else distribution.low
        self.max_choices = max(self.max_choices, len(distribution.values))
        return distribution.values[self._number // 2 % len(distribution.values)]


def example_trials(space: Space) -> list[dict[str, Any]]:
    """Return the hyperparameters of the distinct examples.

    Raises ConfigurationError if a search function fails.
    """
    examples: list[dict[str, Any]] = []
    number, max_choices = 0, 1
    while number < min(2 * max_choices, MAX_EXAMPLES):
        example = Example(number)
        if (sampled := space.sample(example)) not in examples:
            examples.append(sampled)
        number, max_choices = number + 1, max(max_choices, example.max_choices)
    return examples


def check_space(
    algorithm: str, training: Mapping[str, Any], space: Space, rows: Rows, problems: Problems
) -> list[dict[str, Any]]:
    """Add a problem for each search value that does not fit the hyperparameters of ``algorithm``.

    Return two trials that differ as much as possible, without such values, for the worker to check.
    """
    try:
        sampled = example_trials(space)
    except ConfigurationError as error:
        problems.add("search", str(error))
        return [{}]
    entries = {
        f"{table}.{entry}"
        for table, value in training.items()
        if isinstance(value, Mapping)
        for entry in value
    }
    wrong = set()
    for name, distribution in _candidate_values(space, sampled).items():
        if name in training or name in entries:
            why = f"search[{name!r}] and {name}=: give one value for all trials, or a search"
        elif not rows or rows.get(name.partition(".")[0], {}).get("type") == "dict":
            why = ""  # the worker itself checks the values of two trials
        elif name not in rows:
            why = f"search[{name!r}]: {algorithm} has no such hyperparameter{nearest(name, rows)}"
        elif why := _misfit(distribution, rows[name]):
            why = f"search[{name!r}]: {why}"
        if why:
            problems.add(f"search.{name}", why)
            wrong.add(name)
    extremes = sampled[:1] + sampled[1:][-1:]
    return [{name: value for name, value in values.items() if name not in wrong} for values in extremes]


def misspelt_metric(metric: str) -> str:
    """Return an error if a metric is a misspelling of a common one, else an empty string. A longer name, such
    as value_loss_2, may be a metric of its own."""
    common = (*COMMON_NAMES, *RETURN_NAMES)
    near = difflib.get_close_matches(metric.lower(), common, n=1, cutoff=_TYPO)
    if metric in common or not near or len(metric) > len(near[0]):
        return ""
    return f"metric={metric!r}: did you mean {near[0]!r}?"


def misspelt_keywords(names: Iterable[str], rows: Rows) -> dict[str, str]:
    """Return the ``names`` that are misspelt keywords of `Lab.sweep`, each with its error."""
    fields = {field for field in SweepRequest.__struct_fields__ if field != "training"}
    keywords = [*rows, *fields]
    near = {name: difflib.get_close_matches(name.lower(), keywords, n=1, cutoff=_KEYWORD) for name in names}
    return {
        name: f"lab.sweep has no {name}=; did you mean {matches[0]!r}?"
        for name, matches in near.items()
        if name not in rows and fields.issuperset(matches) and matches
    }


def _candidate_values(space: Space, sampled: Sequence[Mapping[str, Any]]) -> Mapping[str, Distribution]:
    """Return the values that a search tries for each hyperparameter: for a function, in its examples."""
    if space.code is None:
        return space.parameters
    values: dict[str, list[Any]] = {}
    for parameters in sampled:
        for name, value in parameters.items():
            values.setdefault(name, []).append(value)
    return {name: Choice(tuple(choices)) for name, choices in values.items()}


def _misfit(distribution: Distribution, row: Mapping[str, Any]) -> str:
    """Return why a distribution's values do not fit a hyperparameter; empty if they do."""
    parameter = Parameter(
        **{name: row[name] for name in _PARAMETER_FIELDS if name in row} | {"type": _TYPES[row["type"]]}
    )
    if isinstance(distribution, Choice):
        return _why(distribution.values, parameter)
    if parameter.choices:
        return f"give a list of its values: {', '.join(map(repr, parameter.choices))}"
    if parameter.type is int and not distribution.whole:
        return "it is an integer: use mosaic.search.integer(low, high)"
    if parameter.type not in (int, float):
        return f"it is of type {row['type']}: give a list of values"
    return _why((distribution.low, distribution.high), parameter)


def _why(values: Iterable[Any], parameter: Parameter) -> str:
    reasons = []
    for value in values:
        try:
            converted(parameter, value)
        except ValueError as error:
            reasons.append(str(error))
    return "; ".join(dict.fromkeys(reasons))
