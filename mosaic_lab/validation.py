"""Validation of user input: misspelt and missing arguments, with all problems in one error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, isfunction, signature
from typing import Any, ParamSpec, TypeVar

from mosaic_contract.config import nearest

from mosaic_lab.errors import ArgumentError, ConfigurationError

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")

_NAMED = 4  # arguments in an error
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


class Problems:
    """Problems with a user's input, raised as one error.

    Each problem has a field, such as "seeds" or "operators.PPO.kind". If the input is a file, ``source`` is
    its name and ``lines`` has the line of each field, which the error includes.
    """

    def __init__(self, source: str = "", lines: Mapping[str, int] | None = None) -> None:
        self._source = source
        self._lines = lines or {}
        self._problems: list[tuple[int, str]] = []

    def add(self, field: str, text: str) -> None:
        """Add a problem; ``text`` describes it, with the value."""
        line = self._line_of(field)
        self._problems.append((line, f"line {line}: {text}" if line else text))

    @property
    def found(self) -> bool:
        """Whether there are any problems so far."""
        return bool(self._problems)

    def check(self) -> None:
        """Raise ConfigurationError with all problems, if there are any."""
        texts = [text for _, text in sorted(self._problems, key=lambda problem: problem[0])]
        if len(texts) == 1:
            raise ConfigurationError(f"{self._source}, {texts[0]}" if self._source else texts[0])
        if texts:
            head = f"{self._source} has {len(texts)} problems:" if self._source else f"{len(texts)} problems:"
            raise ConfigurationError("\n".join([head, *(f"  {text}" for text in texts)]))

    def _line_of(self, field: str) -> int:
        """Return the line of a field or of its nearest known parent; 0 if unknown."""
        while field and field not in self._lines:
            field = field.rpartition(".")[0]
        return self._lines.get(field, 0)


def no_seeds(seeds: object) -> str:
    """Return why a value is not a list of seeds, with a correction."""
    if type(seeds) is not int:
        return f"seeds={seeds!r}: must be a list of integers"
    several = f", or seeds=range({seeds}) for {seeds} of them" if seeds > 1 else ""
    return f"seeds={seeds}: write seeds=[{seeds}] for this seed{several}"


def seed_range(table: Mapping[str, Any], problems: Problems) -> Sequence[int]:
    """Return the seeds of a table in a file, ``{ first = 0, count = 100 }``; add any problems."""
    first, count = table.get("first", 0), table.get("count", 0)
    is_valid = type(first) is int and type(count) is int and set(table) <= {"first", "count"}
    if not is_valid or not count > 0:
        problems.add("seeds", f"seeds={dict(table)!r}: must be a list, or {{ first = 0, count = 100 }}")
        return [0]
    return range(first, first + count)


def checked(function: Callable[P, R], name: str = "") -> Callable[P, R]:
    """Wrap a function to raise ArgumentError for unknown keywords, with the nearest known one, and for
    missing or excess arguments. ``name`` is the function's name for users (default: its own)."""
    form = signature(function)
    parameters = [*form.parameters.values()]
    open_ended = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
    names = {parameter.name for parameter in parameters if parameter.kind in _BY_NAME} - {"self"}
    name = name or function.__name__
    positional = [
        parameter.name for parameter in parameters if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
    ]
    named = [parameter.name for parameter in parameters if parameter.kind is Parameter.KEYWORD_ONLY]
    order = ", ".join(parameter for parameter in positional if parameter != "self")
    without_name = f"only {order} can be given" if order else "nothing can be given"

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not open_ended and not names.issuperset(kwargs):
            _refuse(name, names, kwargs)
        try:
            form.bind(*args, **kwargs)
        except TypeError as error:
            if len(args) > len(positional) and named:
                raise ArgumentError(
                    f"{name}: {without_name} without a name; write {'the others as ' if order else ''}"
                    f"{', '.join(f'{parameter}=' for parameter in named[:_NAMED])} …"
                ) from None
            raise ArgumentError(f"{name}: {error}") from None
        return function(*args, **kwargs)

    return call


def checked_methods(name: str) -> Callable[[type[C]], type[C]]:
    """Apply `checked` to a class and its public methods; ``name`` is the users' name for an instance."""

    def decorate(owner: type[C]) -> type[C]:
        for attribute, value in [*vars(owner).items()]:
            if isfunction(value) and attribute == "__init__":
                setattr(owner, attribute, checked(value, owner.__name__))
            elif isfunction(value) and not attribute.startswith("_"):
                setattr(owner, attribute, checked(value, f"{name}.{attribute}"))
        return owner

    return decorate


def _refuse(name: str, names: set[str], keywords: Mapping[str, Any]) -> None:
    """Raise ArgumentError for unknown keywords."""
    lines = [
        f"{name} has no {keyword}={nearest(keyword, names)}" for keyword in keywords if keyword not in names
    ]
    raise ArgumentError(lines[0] if len(lines) == 1 else "\n  ".join([f"{len(lines)} problems:", *lines]))
