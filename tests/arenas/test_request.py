"""Requests: each verb has the keywords and defaults of its request, which is validated and immutable."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from inspect import Parameter, getsource, signature
from pathlib import Path
from textwrap import dedent

import pytest
from msgspec import Struct, structs

from mosaic_lab import ConfigurationError, Lab, operators
from mosaic_lab.arenas.planning import plan_arenas
from mosaic_lab.arenas.request import CompareRequest
from mosaic_lab.evaluation.request import EvaluateRequest
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.sweeps.request import SweepRequest
from mosaic_lab.validation import Problems


@pytest.mark.parametrize(
    ("call", "request_of_it", "besides"),
    [
        (Lab.train, TrainRequest, {}),
        (Lab.compare, CompareRequest, {}),
        (Lab.evaluate, EvaluateRequest, {"script", "run_code"}),
        (Lab.sweep, SweepRequest, {"worker"}),
    ],
)
def test_each_call_has_the_keywords_and_defaults_of_its_request(
    call: Callable[..., object], request_of_it: type[Struct], besides: set[str]
) -> None:
    keywords = {name: one.default for name, one in signature(call).parameters.items() if name != "self"}
    fields = {field.name: field.default for field in structs.fields(request_of_it)}
    for name in fields.keys() - keywords.keys():
        assert name in ("module", "hyperparameters"), "only scripts set these"
    for name in keywords.keys() - besides - {"hyperparameters", "training"}:
        required = keywords[name] is Parameter.empty
        assert required or keywords[name] == fields[name], name
    arguments = _arguments(call, request_of_it.__name__)
    for name in keywords.keys() & fields.keys():
        assert name in arguments[name], f"{name}= does not reach the request"


def _arguments(call: Callable[..., object], name: str) -> dict[str, str]:
    """Return the expressions of the keyword arguments with which ``call`` builds its request."""
    calls = [node for node in ast.walk(ast.parse(dedent(getsource(call)))) if isinstance(node, ast.Call)]
    (made,) = [one for one in calls if ast.unparse(one.func).endswith(name) and one.keywords]
    return {str(keyword.arg): ast.unparse(keyword.value) for keyword in made.keywords}


def test_a_request_is_checked_and_cannot_be_changed(tmp_path: Path) -> None:
    problems = Problems()
    same = operators.random()
    lanes = {"both": {"north": same, "south": same}, "other": operators.passive()}
    request = CompareRequest(env="CartPole-v1", operators=lanes, seeds=[1], step_timeout=7, max_steps=9)
    plan = plan_arenas(request, problems)
    problems.check()
    with pytest.raises(FrozenInstanceError):
        plan.seeds = [5]  # type: ignore[misc]
    assert plan.lanes == {"both": {"north": "1", "south": "1"}, "other": {"*": "2"}}
    mapping = plan.mapping("both")
    assert mapping["north"] is mapping["south"]
    command = plan.open_command(tmp_path)
    assert (command["step_timeout"], command["max_steps"], command["run_id"]) == (7, 9, tmp_path.name)


def test_all_that_is_wrong_with_a_request_is_one_error() -> None:
    problems = Problems()
    one = {"a": operators.random()}
    plan_arenas(CompareRequest(env="CartPole-v1", operators=one, step_timeout=0), problems)
    with pytest.raises(ConfigurationError, match=r"2 problems:\n  step_timeout=0: .*\n  seeds is empty"):
        problems.check()
