"""Compatibility of a policy's spaces with an environment's, and the sentence that explains a mismatch."""

from __future__ import annotations

from typing import Any

import pytest
from mosaic_contract.space_compatibility import misfit, text_of

DISCRETE = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 4, "start": 0}
BOX = {"type": "Box", "shape": [2], "dtype": "float32", "low": -1.0, "high": [1.0, 2.0]}
MULTI = {"type": "MultiDiscrete", "shape": [2], "dtype": "int64", "nvec": [3, 2], "start": 0}
BINARY = {"type": "MultiBinary", "shape": [2, 3], "dtype": "int8", "n": [2, 3]}
DICT = {"type": "Dict", "spaces": {"image": {**BOX, "shape": [7, 7, 3]}, "mission": {"type": "MissionSpace"}}}
TUPLE = {"type": "Tuple", "spaces": [DISCRETE, BOX]}


@pytest.mark.parametrize(
    ("space", "text"),
    [
        (DISCRETE, "Discrete(4)"),
        ({**DISCRETE, "start": -1}, "Discrete(4, from -1)"),
        (BOX, "Box(2)"),
        ({**BOX, "shape": []}, "Box(one number)"),
        (MULTI, "MultiDiscrete(3, 2)"),
        (BINARY, "MultiBinary(2×3)"),
        (DICT, "Dict(image: Box(7×7×3), mission: MissionSpace)"),
        (TUPLE, "Tuple(Discrete(4), Box(2))"),
        ({"type": "Graph"}, "Graph"),
        ({}, "unknown"),
    ],
)
def test_a_space_in_a_few_letters(space: Any, text: str) -> None:
    assert text_of(space) == text
    assert misfit(space, space, "observations") == ""


@pytest.mark.parametrize(
    ("trained", "found"),
    [
        (DISCRETE, {**DISCRETE, "n": 5}),
        (DISCRETE, {**DISCRETE, "start": 1}),
        (DISCRETE, BOX),
        (BOX, {**BOX, "shape": [3]}),
        (MULTI, {**MULTI, "nvec": [2, 3]}),
        (BINARY, {**BINARY, "n": 6, "shape": [6]}),
        (DICT, {**DICT, "spaces": {"image": DICT["spaces"]["image"]}}),
        (TUPLE, {**TUPLE, "spaces": [BOX, DISCRETE]}),
    ],
)
def test_another_space_does_not_fit(trained: Any, found: Any) -> None:
    for what in ("observations", "actions"):
        assert misfit(trained, found, what) == (
            f"{what} are {text_of(found)}, the policy was trained for {text_of(trained)}"
        )


def test_what_earlier_descriptions_left_out_is_no_difference() -> None:
    old = {"type": "Discrete", "shape": [], "dtype": "int64", "n": 4}
    assert misfit(old, DISCRETE, "actions") == ""
    assert misfit(BOX, {**BOX, "dtype": "float64"}, "observations") == ""


def test_bounds_count_for_actions_only() -> None:
    wide = {**BOX, "high": "Infinity"}
    assert misfit(BOX, wide, "observations") == ""
    assert misfit(BOX, wide, "actions") == (
        "actions reach from -1 to inf, the policy was trained for from -1 to (1, 2)"
    )
    assert misfit(BOX, {**BOX, "low": [-1.0, -1.0000001]}, "actions") == ""
    assert misfit(wide, {**wide, "high": ["Infinity", "Infinity"]}, "actions") == ""
