"""The search space of a sweep: a distribution per hyperparameter, or a function that chooses values."""

from __future__ import annotations

import inspect
import itertools
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Protocol

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs.train_request import json_value

MAX_COMBINATIONS = 100_000
"""Maximum number of combinations in a grid."""


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high`` inclusive, on a logarithmic scale if ``log``."""

    low: float
    high: float
    log: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Choice:
    """One of several values: numbers, strings, booleans or None."""

    values: tuple[Any, ...]


Distribution = Range | Choice


def to_json(distribution: Distribution) -> dict[str, Any]:
    """Return the input of `from_json`."""
    return {"choice": list(distribution.values)} if isinstance(distribution, Choice) else asdict(distribution)


def from_json(content: Mapping[str, Any]) -> Distribution:
    """Return the distribution from the result of `to_json`. Raises TypeError for other content."""
    return Choice(tuple(content["choice"])) if "choice" in content else Range(**content)


def uniform(low: float, high: float) -> Range:
    """Return a uniform distribution of numbers from ``low`` to ``high``. Raises ConfigurationError."""
    return _range(low, high, log=False, whole=False)


def loguniform(low: float, high: float) -> Range:
    """Return a distribution of numbers from ``low`` (above 0) to ``high`` with uniform logarithms, suitable
    for learning rates. Raises ConfigurationError."""
    return _range(low, high, log=True, whole=False)


def integer(low: int, high: int, *, log: bool = False) -> Range:
    """Return a distribution of integers from ``low`` to ``high`` inclusive, uniform or, with ``log`` (``low``
    above 0), on a logarithmic scale. Raises ConfigurationError."""
    return _range(low, high, log=log, whole=True)


def choice(values: Sequence[Any]) -> Choice:
    """Return a distribution over these values, as a list in ``search=`` does. Raises ConfigurationError."""
    choices = tuple(json_value("a choice", value) for value in values)
    if not choices:
        raise ConfigurationError("choice([]): give at least one value")
    for value in choices:
        if not isinstance(value, str | int | float | bool | None):
            raise ConfigurationError(
                f"choice: {value!r:.100} is not a number, a string, a boolean or None; choose among names "
                "and return the value of the chosen one from a search function"
            )
    return Choice(choices)


class Suggest(Protocol):
    """Chooses the value of one parameter of one trial."""

    def suggest(self, name: str, distribution: Distribution) -> Any: ...


class TrialSearch:
    """The argument of a search function: each method chooses the value of one hyperparameter.

    It takes the parameter's name, then the arguments of the function of the same name in `mosaic_lab.search`.
    """

    def __init__(self, suggest: Suggest) -> None:
        self._suggest = suggest

    def uniform(self, name: str, low: float, high: float) -> float:
        return float(self._suggest.suggest(name, uniform(low, high)))

    def loguniform(self, name: str, low: float, high: float) -> float:
        return float(self._suggest.suggest(name, loguniform(low, high)))

    def integer(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        return int(self._suggest.suggest(name, integer(low, high, log=log)))

    def choice(self, name: str, values: Sequence[Any]) -> Any:
        return self._suggest.suggest(name, choice(values))


class Space:
    """A search space: ``parameters``, or ``code``, the source of a function that is called for each trial and
    returns its hyperparameters."""

    def __init__(self, parameters: Mapping[str, Distribution], code: str | None = None) -> None:
        self.parameters = dict(parameters)
        self.code = code
        """Untrusted source: executed only by `sample`, never when a sweep is displayed."""

    @cached_property
    def _function(self) -> Callable[[TrialSearch], Any] | None:
        return None if self.code is None else _compiled(self.code)

    def sample(self, suggest: Suggest) -> dict[str, Any]:
        """Return the hyperparameters of one trial. Raises ConfigurationError if the function fails."""
        if self._function is None:
            return {
                name: suggest.suggest(name, distribution) for name, distribution in self.parameters.items()
            }
        try:
            sampled = self._function(TrialSearch(suggest))
        except ConfigurationError:
            raise
        except NameError as error:
            raise ConfigurationError(
                f"search: {error}. The function runs in the sweep's own process: import what it uses, and "
                "define its constants, inside it"
            ) from None
        except Exception as error:
            raise ConfigurationError(
                f"search: the function failed: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(sampled, Mapping) or not sampled:
            raise ConfigurationError(
                f"search: the function returned {sampled!r:.100}: return a table of hyperparameters, such as "
                '{"learning_rate": trial.loguniform("learning_rate", 1e-5, 1e-2)}'
            )
        return {str(name): json_value(f"search: {name}", value) for name, value in sampled.items()}

    def grid(self) -> Iterator[dict[str, Any]]:
        """Return an iterator over all combinations of values, the last parameter changing fastest. Raises
        ConfigurationError if parameters are not lists of values, or if there are too many combinations."""
        if self.code is not None:
            raise ConfigurationError('sampler="grid" needs a table of parameters as search=, not a function')
        values = {name: _values(name, distribution) for name, distribution in self.parameters.items()}
        if (count := math.prod(map(len, values.values()))) > MAX_COMBINATIONS:
            raise ConfigurationError(f'sampler="grid": {count:,} combinations; the maximum is 100,000')
        return (
            dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values())
        )

    def to_json(self) -> dict[str, Any]:
        """Return the input of `from_json`."""
        return {
            "parameters": {name: to_json(distribution) for name, distribution in self.parameters.items()},
            "code": self.code,
        }

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Space:
        """Return the space from the result of `to_json`."""
        parameters = {name: from_json(distribution) for name, distribution in content["parameters"].items()}
        return cls(parameters, content["code"])


def space_of(search: Mapping[str, Any] | Callable[[TrialSearch], Mapping[str, Any]] | Space) -> Space:
    """Return the space described by ``search=`` of `Lab.sweep`; lists become choices. Raises
    ConfigurationError for other values, with all problems."""
    if isinstance(search, Space):
        return search
    if callable(search):
        return Space({}, _source(search))
    if not isinstance(search, Mapping) or not search:
        raise ConfigurationError(
            f"search={search!r:.100}: must be a table such as "
            '{"learning_rate": mosaic.search.loguniform(1e-5, 1e-2), "num_envs": [4, 8]}, or a function of a '
            "trial"
        )
    parameters: dict[str, Distribution] = {}
    problems = []
    for name, value in search.items():
        try:
            parameters[str(name)] = _distribution(value)
        except ConfigurationError as error:
            problems.append(f"search[{name!r}]: {error}")
    if problems:
        raise ConfigurationError("\n".join(problems))
    return Space(parameters)


def _distribution(value: Any) -> Distribution:
    if isinstance(value, Range | Choice):
        return value
    if isinstance(value, Sequence) and not isinstance(value, str):
        if (
            isinstance(value, tuple)
            and len(value) == 2
            and all(isinstance(bound, int | float) for bound in value)
        ):
            raise ConfigurationError(
                f"{value!r:.100} may be a range or two values: give mosaic.search.uniform{value!r} (or "
                f"loguniform, integer), or the list [{value[0]!r}, {value[1]!r}]"
            )
        return choice(value)
    raise ConfigurationError(
        f"{value!r:.100} is not a search: give a list of values, mosaic.search.loguniform(low, high), "
        "mosaic.search.uniform(low, high) or mosaic.search.integer(low, high); pass a value that all trials "
        "share as a keyword"
    )


def _range(low: float, high: float, *, log: bool, whole: bool) -> Range:
    call = f"({low!r}, {high!r})"
    for bound in (low, high):
        if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
            raise ConfigurationError(f"{call}: needs two numbers")
        if whole and bound != int(bound):
            raise ConfigurationError(f"{call}: needs two integers")
    if low >= high:
        raise ConfigurationError(f"{call}: the first number must be below the second")
    if log and low <= 0:
        raise ConfigurationError(f"{call}: a logarithmic range must start above 0")
    return Range(int(low), int(high), log, True) if whole else Range(float(low), float(high), log)


def _values(name: str, distribution: Distribution) -> list[Any]:
    if isinstance(distribution, Choice):
        return list(distribution.values)
    low, high = distribution.low, distribution.high
    if distribution.whole and not distribution.log and high - low < MAX_COMBINATIONS:
        return list(range(int(low), int(high) + 1))
    raise ConfigurationError(f'sampler="grid" needs a list of values for {name}, such as [1e-4, 1e-3]')


def _source(function: Callable[..., Any]) -> str:
    """Return the source of a function, which the sweep's process executes for each trial."""
    name = getattr(function, "__name__", "search")
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        raise ConfigurationError(
            f"search: the source of {name} is not available: define it with def in a cell or a file"
        ) from None
    if name == "<lambda>":
        raise ConfigurationError("search: give a function defined with def, not a lambda")
    return text


def _compiled(code: str) -> Callable[[TrialSearch], Any]:
    names: dict[str, Any] = {}
    try:
        exec(compile(code, "<search>", "exec"), names)
    except Exception as error:
        raise ConfigurationError(f"search: the function's source does not run: {error}") from error
    functions = [value for value in names.values() if inspect.isfunction(value)]
    if len(functions) != 1:
        raise ConfigurationError("search: give one function defined with def")
    function: Callable[[TrialSearch], Any] = functions[0]
    return function
