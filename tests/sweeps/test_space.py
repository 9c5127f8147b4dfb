"""Search spaces: tables, functions and grids; invalid ones are refused with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic_lab import ConfigurationError, search
from mosaic_lab.sweeps.space import Distribution, Space, TrialSearch, space_of


class Lowest:
    """Suggests each parameter's lowest value and records the names."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def suggest(self, name: str, distribution: Distribution) -> Any:
        self.names.append(name)
        return distribution.values[0] if isinstance(distribution, search.Choice) else distribution.low


def optimizer(trial: TrialSearch) -> dict[str, Any]:
    import math

    found: dict[str, Any] = {"optimizer": trial.choice("optimizer", ["sgd", "adam"])}
    if found["optimizer"] == "sgd":
        found["momentum"] = trial.uniform("momentum", 0.5, 0.99)
    else:
        found["beta"] = trial.uniform("beta", 0.8, 0.99)
    return found | {"hidden": [2 ** trial.integer("log_width", 4, 6)] * math.ceil(1.5)}


def uses_what_is_outside(trial: TrialSearch) -> dict[str, Any]:
    return {"learning_rate": trial.loguniform("learning_rate", 1e-5, LIMIT)}


LIMIT = 1e-2


def test_a_space_is_written_and_read_again() -> None:
    space = space_of(
        {
            "a": search.loguniform(1e-5, 1e-2),
            "b": [4, 8],
            "c": search.integer(1, 9),
            "d": search.uniform(0, 1),
        }
    )
    again = Space.from_json(space.to_json())
    assert again.parameters == space.parameters
    assert again.sample(Lowest()) == {"a": 1e-5, "b": 4, "c": 1, "d": 0.0}


def test_a_function_chooses_parameters_that_depend_on_others_and_survives_its_kernel() -> None:
    lowest = Lowest()
    again = Space.from_json(space_of(optimizer).to_json())
    assert again.sample(lowest) == {"optimizer": "sgd", "momentum": 0.5, "hidden": [16, 16]}
    assert lowest.names == ["optimizer", "momentum", "log_width"]


def test_a_function_of_others_does_not_run_where_a_sweep_is_only_looked_at() -> None:
    written = {"parameters": {}, "code": "raise SystemExit('it ran')"}
    space = Space.from_json(written)
    assert space.to_json() == written and space.parameters == {}
    with pytest.raises(SystemExit):
        space.sample(Lowest())


def test_a_grid_has_every_combination_once() -> None:
    grid = space_of({"a": [1, 2], "b": search.integer(0, 2)}).grid()
    assert [tuple(one.values()) for one in grid] == [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2)]
    with pytest.raises(ConfigurationError, match=r"list of values for a, such as \[1e-4, 1e-3\]"):
        space_of({"a": search.loguniform(1e-5, 1e-2)}).grid()
    with pytest.raises(ConfigurationError, match="1,000,000 combinations; the maximum is 100,000"):
        space_of({name: list(range(100)) for name in "abc"}).grid()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: search.loguniform(0, 1), "must start above 0"),
        (lambda: search.uniform(2, 1), r"\(2, 1\): the first number must be below the second"),
        (lambda: search.uniform(0, float("nan")), "needs two numbers"),
        (lambda: search.integer(1, 2.5), "two integers"),  # type: ignore[arg-type]
        (lambda: search.choice([]), "at least one value"),
        (lambda: search.choice([[64, 64]]), r"\[64, 64\] is not a number, a string"),
        (lambda: space_of({"a": 1, "b": "x"}), r"search\['a'\]: 1 is not a search(.|\n)*search\['b'\]: 'x'"),
        (
            lambda: space_of({"a": (1e-4, 1e-2)}),
            r"range or two values: give mosaic.search.uniform\(0.0001, 0.01\)",
        ),
        (lambda: space_of({}), "must be a table"),
        (lambda: space_of(lambda trial: {}), "not a lambda"),
        (lambda: space_of(len), "source of len is not available"),
        (lambda: space_of(uses_what_is_outside).sample(Lowest()), "LIMIT.*inside it"),
    ],
)
def test_what_cannot_be_searched_is_refused_with_what_to_give(make: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make()
