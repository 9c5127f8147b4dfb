"""Checks of the arguments of operators; each adds what is wrong to the problems found so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mosaic_lab.validation import Problems


def one_of(problems: Problems, name: str, value: Any, known: Sequence[Any]) -> None:
    """Add a problem unless the value is among the known ones."""
    if value not in known:
        problems.add("", f"{name}={value!r}: give one of {', '.join(repr(one) for one in known if one)}")


def true_or_false(problems: Problems, name: str, value: Any) -> None:
    """Add a problem unless the value is True or False."""
    if not isinstance(value, bool):
        problems.add("", f"{name}={value!r}: give True or False")


def whole(problems: Problems, name: str, value: Any, low: int, high: int) -> None:
    """Add a problem unless the value is a whole number within these bounds."""
    if type(value) is not int or not low <= value <= high:
        problems.add("", f"{name}={value!r}: give a whole number from {low} to {high:,}")
