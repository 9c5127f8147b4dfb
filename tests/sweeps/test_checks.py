"""Searches are validated against their worker's table of hyperparameters; every problem is named."""

from __future__ import annotations

from typing import Any

import pytest
from mosaic_contract.hyperparameters import Parameter

from mosaic_lab import ConfigurationError, search
from mosaic_lab.sweeps.checks import check_space, example_trials, misspelt_metric
from mosaic_lab.sweeps.space import TrialSearch, space_of
from mosaic_lab.validation import Problems

ROWS = {
    one.name: one.to_dict()
    for one in (
        Parameter("learning_rate", float, 1e-3, maximum=1, exclusive_minimum=0),
        Parameter("num_envs", int, 4, minimum=1),
        Parameter("anneal", bool, True),
        Parameter("target_kl", float),
        Parameter("optimizer", str, "adam", choices=("adam", "sgd")),
        Parameter("hidden", list, [64, 64]),
    )
}


def by_name(trial: TrialSearch) -> dict[str, Any]:
    optimizer = trial.choice("optimizer", ["adam", "sgd", "rmsprop"])
    found: dict[str, Any] = {"optimizer": optimizer, "hidden": {"small": [8], "none": 0}[trial.choice(
        "size", ["small", "none"]
    )]}  # fmt: skip
    if optimizer == "sgd":
        found["learning_rate"] = trial.uniform("rate of sgd", 0.1, 2.0)
    return found


def refused(wanted: Any, **training: Any) -> list[str]:
    problems = Problems()
    check_space("toy walk", training, space_of(wanted), ROWS, problems)
    try:
        problems.check()
    except ConfigurationError as error:
        return [line.strip() for line in str(error).splitlines() if "problems:" not in line]
    return []


def test_what_fits_is_not_refused() -> None:
    assert refused(
        {
            "learning_rate": search.loguniform(1e-5, 1.0),
            "num_envs": [1, 8.0],
            "anneal": [True, False],
            "target_kl": [None, 0.1, 1],
            "optimizer": ["sgd"],
        }
    ) == []  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wanted", "reason"),
    [
        ("learning_rate", [1e-3, "fast", 0], "expected float, got str 'fast'; 0.0 is not above 0"),
        ("learning_rate", search.loguniform(0.1, 5.0), "5.0 is more than 1"),
        ("num_envs", [4, 2.5, True], "expected int, got float 2.5; expected int, got bool True"),
        ("num_envs", search.uniform(1, 4), "it is an integer: use mosaic.search.integer(low, high)"),
        ("num_envs", search.integer(-2, 0), "-2 is less than 1; 0 is less than 1"),
        ("anneal", [0, 1], "expected bool, got int 0; expected bool, got int 1"),
        ("anneal", search.uniform(0, 1), "it is of type bool: give a list of values"),
        ("optimizer", ["adam", "lion"], "'lion' is not one of 'adam', 'sgd'"),
        ("optimizer", search.integer(0, 1), "give a list of its values: 'adam', 'sgd'"),
    ],
)
def test_values_of_the_wrong_type_or_size_are_named(name: str, wanted: Any, reason: str) -> None:
    assert refused({name: wanted}) == [f"search[{name!r}]: {reason}"]


def test_a_name_is_known_and_searched_or_given() -> None:
    assert refused({"num_env": [4], "num_envs": [8]}, num_envs=4) == [
        "search['num_env']: toy walk has no such hyperparameter; did you mean 'num_envs'?",
        "search['num_envs'] and num_envs=: give one value for all trials, or a search",
    ]


def test_of_a_function_every_choice_and_both_ends_of_ranges_are_checked() -> None:
    assert refused(by_name) == [
        "search['optimizer']: 'rmsprop' is not one of 'adam', 'sgd'",
        "search['hidden']: expected list, got int 0",
        "search['learning_rate']: 2.0 is more than 1",
    ]


@pytest.mark.parametrize(
    ("metric", "meant"),
    [
        ("Episode_Return", "episode_return"),
        ("episode_retrun", "episode_return"),
        ("value_los", "value_loss"),
        ("chart/episodic_return", "charts/episodic_return"),
        ("episode_return", ""),
        ("value_loss_2", ""),
        ("q_value_loss", ""),
        ("eval/episode_return", ""),
        ("height", ""),
    ],
)
def test_only_a_misspelt_common_metric_is_refused(metric: str, meant: str) -> None:
    assert misspelt_metric(metric) == (meant and f"metric={metric!r}: did you mean {meant!r}?")


def test_examples_have_every_choice_with_both_ends() -> None:
    space = space_of({"a": search.uniform(0, 1), "b": ["x", "y", "z"], "c": [False, True]})
    found = example_trials(space)
    assert {(one["a"], one["b"]) for one in found} == {(end, name) for end in (0.0, 1.0) for name in "xyz"}
    assert {one["c"] for one in found} == {False, True} and len(found) == 6
    assert len(example_trials(space_of({"a": list(range(1000))}))) == 100, "the number of examples is bounded"
