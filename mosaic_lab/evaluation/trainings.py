"""Algorithms in an evaluation: a lane for each of their trainings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic_lab.operators import Algorithm
from mosaic_lab.validation import Problems

Trainings = dict[str, dict[str, str]]
"""The lanes of each algorithm's trainings: {operator: {training: lane}}."""


def with_lanes(operators: Any, problems: Problems) -> tuple[Any, Trainings]:
    """Return operators with a lane for each training in place of each `Algorithm`, and these lanes.

    A lane is named after the operator and the training, "PPO s1"; that of an only training after the operator
    alone. Values that are not a mapping are returned unchanged.
    """
    if not isinstance(operators, Mapping):
        return operators, {}
    lanes: dict[Any, Any] = {}
    trainings: Trainings = {}
    for label, value in operators.items():
        if not isinstance(value, Algorithm):
            named = {label: value}
        elif len(value.trainings) == 1:
            named = dict.fromkeys([label], *value.trainings.values())
        else:
            trainings[label] = {name: f"{label} {name}" for name in value.trainings}
            named = {trainings[label][name]: spec for name, spec in value.trainings.items()}
        for lane in named.keys() & (lanes.keys() | (operators.keys() - {label})):
            text = f"{lane!r} names both a training of {label} and another operator: rename one of them"
            problems.add(f"operators.{lane}", text)
        lanes |= named
    return lanes, trainings
