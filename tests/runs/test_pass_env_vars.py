"""Keys for operators: a key reaches only the operator that requests it, and is written to no file."""

from __future__ import annotations

from pathlib import Path

import pytest
from arenas.comparison_fixtures import Compare, states
from evaluation.evaluation_fixtures import Evaluate, odd
from support import wait_until

from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError

pytestmark = pytest.mark.usefixtures("odd_home")

NAME, VALUE = "ODD_API_KEY", "sk-not-for-any-file"


def keyed(*names: str) -> operators.OperatorSpec:
    return operators.worker("odd", behaviour="keyed", pass_env_vars=names)


def files_with(folder: Path, text: str) -> list[str]:
    return [str(path) for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_a_key_reaches_its_operator_alone(
    start_comparison: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, VALUE)
    with pytest.warns(RuntimeWarning, match="I was given no key"):
        comparison = start_comparison("Odd-v0", {"with": keyed(NAME), "without": keyed()})
    comparison.step(2)
    monkeypatch.delenv(NAME)
    comparison.restart("with")  # it keeps the variables of the comparison's start
    assert states(comparison) == [("ready", 0), ("failed", 0)]
    comparison.stop()
    assert files_with(tmp_path, NAME), "the variable's name is recorded"
    assert not files_with(tmp_path, VALUE)


def test_without_its_key_nothing_starts(start_comparison: Compare, tmp_path: Path) -> None:
    for operator, given, refused in (
        (keyed(NAME), {}, "a: pass_env_vars of odd names ODD_API_KEY, which is not set"),
        (keyed(), {"pass_env_vars": [NAME]}, "pass_env_vars of the environment names ODD_API_KEY, which is"),
        (keyed(), {"pass_env_vars": NAME}, "pass_env_vars: must be a list of names"),
    ):
        with pytest.raises(ConfigurationError, match=refused):
            start_comparison("Odd-v0", {"a": operator}, **given)
    assert not list(tmp_path.iterdir())


def test_a_resumed_evaluation_reads_the_key_again(
    start_evaluation: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NAME, VALUE)
    evaluation = start_evaluation(**odd(operators={"one": keyed(NAME)}, seeds=range(40), step_delay=0.002))
    wait_until(lambda: evaluation.done > 2)
    evaluation.stop()
    for name in ("config.json", "request.json"):  # as earlier versions wrote them
        file = evaluation.path / name
        file.write_text(file.read_text().replace('"pass_env_vars":', '"pass_env":'))
    monkeypatch.delenv(NAME)
    with pytest.raises(ConfigurationError, match="ODD_API_KEY"):
        evaluation.resume()
    assert evaluation.state == "cancelled"
    monkeypatch.setenv(NAME, VALUE + "-renewed")
    assert list(evaluation.resume().wait(120).results()["status"]) == ["ok"] * 40
    assert not files_with(tmp_path, VALUE)
