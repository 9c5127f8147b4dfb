"""Calls with misspelt or missing arguments, answered with a ConfigurationError that says what to write."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, isfunction, signature
from typing import Any, ParamSpec, TypeVar

from mosaic_contract.config import nearest

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.problems import Problems

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def checked(function: Callable[P, R], name: str = "") -> Callable[P, R]:
    """Have a function raise ConfigurationError for keywords that it does not have, with the nearest it has,
    and for arguments that are missing or too many.

    ``name`` is what users call it by (default: its own name). One that takes any keyword stays as it is.
    """
    form = signature(function)
    parameters = [*form.parameters.values()]
    if any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
        return function
    known = {parameter.name for parameter in parameters if parameter.kind in _BY_NAME} - {"self"}
    name = name or function.__name__

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not known.issuperset(kwargs):
            _refuse(name, known, kwargs)
        try:
            form.bind(*args, **kwargs)
        except TypeError as error:
            raise ConfigurationError(f"{name}: {error}") from None
        return function(*args, **kwargs)

    return call


def checked_methods(name: str) -> Callable[[type[C]], type[C]]:
    """Apply `checked` to a class and its public methods; ``name`` is what users call an instance."""

    def decorate(owner: type[C]) -> type[C]:
        for attribute, value in [*vars(owner).items()]:
            if isfunction(value) and attribute == "__init__":
                setattr(owner, attribute, checked(value, owner.__name__))
            elif isfunction(value) and not attribute.startswith("_"):
                setattr(owner, attribute, checked(value, f"{name}.{attribute}"))
        return owner

    return decorate


def _refuse(name: str, known: set[str], given: dict[str, Any]) -> None:
    """Raise ConfigurationError for those of the given keywords that are not known."""
    problems = Problems()
    for keyword in given:
        if keyword not in known:
            problems.add("", f"{name} has no {keyword}={nearest(keyword, known)}")
    problems.check()
