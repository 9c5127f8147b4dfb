"""Comparisons and evaluations take one request: a keyword of both is added in one place."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from inspect import signature
from pathlib import Path

import pytest

from mosaic_lab import ConfigurationError, Lab, operators
from mosaic_lab.arenas.request import KEYWORDS, build_request
from mosaic_lab.evaluation.scripts import KEYS
from mosaic_lab.validation import Problems


def test_calls_and_scripts_have_the_keywords_of_the_request() -> None:
    compare, evaluate = (set(signature(call).parameters) for call in (Lab.compare, Lab.evaluate))
    assert compare == {"self", *KEYWORDS}
    assert {*evaluate, "module"} == {"self", "script", "run_code", *KEYS}  # a module is a script's alone
    assert set(KEYWORDS) < set(KEYS)


def test_a_request_is_checked_and_cannot_be_changed(tmp_path: Path) -> None:
    problems = Problems()
    same = operators.random()
    lanes = {"both": {"north": same, "south": same}, "other": operators.passive()}
    request = build_request(problems, env="CartPole-v1", operators=lanes, seeds=[1], step_timeout=7)
    problems.check()
    with pytest.raises(FrozenInstanceError):
        request.max_steps = 5  # type: ignore[misc]
    assert request.lanes == {"both": {"north": "1", "south": "1"}, "other": {"*": "2"}}
    mapping = request.mapping("both")
    assert mapping["north"] is mapping["south"]
    command = replace(request, max_steps=9).open_command(tmp_path)
    assert (command["step_timeout"], command["max_steps"], command["run_id"]) == (7, 9, tmp_path.name)


def test_all_that_is_wrong_with_a_request_is_one_error() -> None:
    problems = Problems()
    build_request(problems, env="CartPole-v1", operators={"a": operators.random()}, seeds=[], step_timeout=0)
    with pytest.raises(ConfigurationError, match=r"2 problems:\n  step_timeout=0: .*\n  seeds is empty"):
        problems.check()
