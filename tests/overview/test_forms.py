"""Forms for trainings, evaluations and comparisons: fields from the workers' tables, idiomatic user code."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from mosaic_lab import workers
from mosaic_lab.errors import ConfigurationError, WorkerEnvironmentError
from mosaic_lab.overview import forms
from mosaic_lab.overview.forms import code, match_form, training_form
from mosaic_lab.overview.workers import worker_rows


def call_of(text: str) -> tuple[str, dict[str, Any]]:
    """Function called by the code's last assignment, and its literal keyword arguments."""
    assigned = [node for node in ast.parse(text).body if isinstance(node, ast.Assign)][-1].value
    assert isinstance(assigned, ast.Call)
    literals = {one.arg: one.value for one in assigned.keywords if one.arg}
    return ast.unparse(assigned.func), {
        name: ast.literal_eval(value) for name, value in literals.items() if not isinstance(value, ast.Call)
    }


def test_a_trainings_form_has_the_workers_own_hyperparameters(toy: Path) -> None:
    form = training_form("toy")
    assert (form["algorithms"], form["algorithm"], form["note"]) == (["walk"], "walk", "")
    field = form["hyperparameters"]["properties"]["learning_rate"]
    known = workers.describe(workers.ensure("toy"))["hyperparameters"]["walk"][0]
    assert (field["type"], field["default"]) == ("number", known["default"])
    assert (field["exclusiveMinimum"], field["maximum"], "minimum" in field) == (0, 10, False)
    assert form["schema"]["properties"]["total_timesteps"]["minimum"] == 1


def test_a_worker_with_an_older_contract_has_a_form_without_limits(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = workers.describe(workers.ensure("toy"))
    for name in ("minimum", "maximum", "exclusive_minimum"):
        del older["hyperparameters"]["walk"][0][name]
    monkeypatch.setattr(forms, "_described", lambda worker, created: older)
    field = training_form("toy")["hyperparameters"]["properties"]["learning_rate"]
    assert set(field) == {"type", "title", "default", "description"}


def test_what_is_not_there_is_said(toy: Path) -> None:
    assert "cleanrl is not installed" in training_form("cleanrl")["note"]
    with pytest.raises(ConfigurationError, match="toy has no algorithm 'run'; it has walk"):
        training_form("toy", "run")
    with pytest.raises(WorkerEnvironmentError, match="Did you mean 'toy'"):
        training_form("tyo")


def test_a_trainings_code_has_what_differs_from_the_defaults(toy: Path) -> None:
    values = {"worker": "toy", "algorithm": "walk", "env": "CartPole-v1", "total_timesteps": 100_000}
    default = training_form("toy")["hyperparameters"]["properties"]["learning_rate"]
    unchanged = {"learning_rate": default["default"]}
    text = code("training", {**values, "seeds": "3", "threads": 1, "hyperparameters": unchanged})
    given = {name: value for name, value in values.items() if name != "worker"}
    assert call_of(text) == ("lab.train", {**given, "seed": 3})
    assert text.endswith("\nrun") and "100_000" in text
    asked = {"films": "last", "wrappers": '["flat", {"frame_stack": 4}]', "evaluation_seeds": "0-2"}
    assert 'evaluate={"seeds": range(3)}' in (text := code("training", {**values, **asked}))
    assert 'films="last"' in text and 'wrappers=["flat", {"frame_stack": 4}]' in text
    changed = code(
        "training", {**values, "seeds": "0-4", "hyperparameters": {"learning_rate": 0.125}}, "mine"
    )
    assert call_of(changed) == ("mine.train", {**given, "learning_rate": 0.125})
    assert "seed=range(5)" in changed and changed.endswith("\ngroup")


@pytest.mark.parametrize(
    ("seeds", "written"),
    [
        ("7", "seed=7"),
        ("1, 2,3", "seed=[1, 2, 3]"),
        ("2-4", "seed=range(2, 5)"),
        ("0-99999999999999999", "seed=range(100000000000000000)"),
    ],
)
def test_seeds_are_a_number_several_or_a_range(toy: Path, seeds: str, written: str) -> None:
    assert written in code("training", {"worker": "toy", "algorithm": "walk", "seeds": seeds})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seeds": "some"}, "seeds: 'some' is not a number"),
        ({"wrappers": "flat"}, "wrappers: 'flat' is not JSON"),
        ({"seeds": "4-2"}, "the range '4-2' is empty"),
        ({"seeds": "1, 2, 1"}, "seed has duplicates: 1"),
        ({"evaluation_seeds": "1, 1"}, "seed has duplicates: 1"),
        ({"hyperparameters": {"lr": 1}}, "toy walk has no hyperparameter 'lr'"),
    ],
)
def test_values_that_cannot_be_are_refused(toy: Path, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        code("training", {"worker": "toy", "algorithm": "walk", **values})


def test_evaluations_and_comparisons_name_their_operators() -> None:
    operators = [
        {"name": "PPO", "kind": "rl", "run": "k3f9"},
        {"name": 'say "hi"', "kind": "llm", "model": "local"},
        {"name": "hosted", "kind": "llm", "model": "a/b", "provider": "openrouter"},
        {"name": "served", "kind": "llm", "model": "20261127-180202-llama.cpp-zf6p"},
        {"name": "dice", "kind": "random"},
    ]
    values = {"env": "CartPole-v1", "operators": operators, "seeds": "0-9", "episodes": 2}
    text = code("evaluation", values)
    assert 'mosaic.operators.rl(lab.run("k3f9"))' in text and '"say \\"hi\\"": mosaic.operators.llm' in text
    assert '"hosted": mosaic.operators.llm("a/b", provider="openrouter")' in text
    assert '"served": mosaic.operators.llm(lab.run("20261127-180202-llama.cpp-zf6p"))' in text
    assert "lab.evaluate(" in text and "seeds=range(10)" in text and "episodes=2" in text
    ast.parse(text)
    assert "lab.compare(" in code("comparison", {**values, "seeds": "42"})
    kinds = match_form("comparison")["schema"]["properties"]["operators"]["items"]["properties"]["kind"]
    assert "human" in {one["const"] for one in kinds["oneOf"]}
    kinds = match_form("evaluation")["schema"]["properties"]["operators"]["items"]["properties"]["kind"]
    assert "human" not in {one["const"] for one in kinds["oneOf"]}


@pytest.mark.parametrize("kind", ["training", "evaluation", "comparison"])
def test_a_cell_assigns_no_name_that_the_notebook_uses(toy: Path, kind: str) -> None:
    values = {"worker": "toy", "algorithm": "walk", "env": "a\u202eb", "seeds": "0-4"}
    values["operators"] = [{"name": "x", "kind": "passive"}]
    taken = {"group", "group_2", "ev", "comparison", "mosaic"}
    text = code(kind, values, "lab", taken)
    assigned = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} - {"lab"}
    assert not taken & assigned and "\u202e" not in text and '"a\\u202eb"' in text
    imported = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import)]
    assert all(name.asname is None for node in imported for name in node.names)


@pytest.mark.parametrize(
    ("kind", "values", "lab"),
    [
        ("training", {"worker": "toy"}, "class"),
        ("training", {"worker": "toy", "seeds": "9" * 5000}, "lab"),
        ("evaluation", {"operators": [1]}, "lab"),
        ("evaluation", {"operators": 1}, "lab"),
        ("training", {"worker": "toy", "env": json.loads("[" * 300 + "]" * 300)}, "lab"),
    ],
)
def test_what_would_not_be_python_is_refused(toy: Path, kind: str, values: dict[str, Any], lab: str) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be written|is not (a number|the name)"):
        code(kind, values, lab)


def test_workers_that_train_are_known_before_they_are_installed(toy: Path) -> None:
    assert {row["name"] for row in worker_rows() if row["trains"]} == {
        *("balrog", "cleanrl", "jumanji", "rllib", "sb3", "script", "tianshou", "toy", "xuance")
    }


def test_the_list_of_workers_has_versions_and_the_latest_check(toy: Path, own_home: Path) -> None:
    workers.install(toy)
    row = {one["name"]: one for one in worker_rows()}["toy"]
    assert (row["state"], row["algorithms"], row["checked"], row["checks"]) == (
        "installed",
        ["walk"],
        None,
        0,
    )
    results = workers.check("toy")
    row = {one["name"]: one for one in worker_rows()}["toy"]
    assert row["checked"] and row["checks"] == len(results)
    assert row["failed"] == {one.name: one.detail for one in results if not one.passed}
    workers.remove("toy")
    workers.install(toy)
    assert {one["name"]: one for one in worker_rows()}["toy"]["checked"] is None, "the removed one"
