"""Checks of operators' arguments."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from mosaic_lab.validation import Problems

Rule = type[bool] | range | tuple[Any, ...]
"""Valid values of an argument: True and False, the integers of a range, or one of several."""


def check_arguments(
    problems: Problems, optional: Container[str] = (), **given: tuple[Any, Rule]
) -> dict[str, Any]:
    """Return the arguments, each given with its rule, and record violations as problems.

    Arguments in ``optional`` may be None.
    """
    for name, (value, rule) in given.items():
        if isinstance(rule, range):
            valid = type(value) is int and value in rule
            expected = f"an integer from {rule.start} to {rule.stop - 1:,}"
        elif isinstance(rule, tuple):
            valid, expected = value in rule, f"one of {', '.join(map(repr, rule))}"
        else:
            valid, expected = isinstance(value, bool), "True or False"
        if not valid and not (value is None and name in optional):
            problems.add("", f"{name}={value!r}: must be {expected}")
    return {name: value for name, (value, _) in given.items()}
