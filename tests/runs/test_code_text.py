"""`code_of` writes code that reproduces a run; the contents of a run's folder are never executed."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

import mosaic_lab as mosaic
from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.runs import Run
from mosaic_lab.runs.kinds import code_of
from mosaic_lab.runs.stages import Stage
from mosaic_lab.runs.train_request import TrainRequest
from mosaic_lab.runs.training_plan import TrainingPlan

WALK: dict[str, Any] = {"algorithm": "walk", "env": "Hill-v0", "total_timesteps": 20_000}


def test_the_plan_of_an_earlier_version_is_read() -> None:
    """Earlier versions of sweeps and curricula stored these arguments as fields of the plan itself."""
    config = {
        "algorithm": "walk", "env_id": "Hill-v0", "total_timesteps": 20_000, "seed": 3, "wrappers": ["flat"],
        "fastlane": {"enabled": True}, "checkpoint": {"every_timesteps": 500, "resume_from": None},
        "hyperparameters": {"learning_rate": 0.125},
    }  # fmt: skip
    stored = {
        "worker": "toy", "command": ["python", "toy.py"], "config": config, "steps": 20_000, "gpus": 0,
        "threads": 2, "grace_seconds": 3.0, "films": "off", "on": None, "restarts": 0,
    }  # fmt: skip
    plan = TrainingPlan.from_json(stored, ["HILL_KEY"])
    assert (plan.command, plan.config, plan.steps) == (["python", "toy.py"], config, 20_000)
    assert json.loads(json.dumps(plan.request.to_json())) == {
        "worker": "toy", **WALK, "seed": 3, "threads": 2, "checkpoint_every": 500, "wrappers": ["flat"],
        "grace_seconds": 3.0, "pass_env_vars": ["HILL_KEY"], "hyperparameters": {"learning_rate": 0.125},
    }  # fmt: skip
    assert TrainingPlan.from_json(json.loads(json.dumps(plan.to_json())), ["HILL_KEY"]) == plan


@pytest.mark.usefixtures("toy")
def test_the_code_makes_the_run_again(lab: mosaic.Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HILL_KEY", "a secret")
    plain = lab.train("toy", **WALK)
    assert isinstance(plain, Run)
    expected = 'lab.train("toy", algorithm="walk", env="Hill-v0", total_timesteps=20_000, seed=1)'
    assert code_of(plain) == expected
    rich = lab.train(
        "toy",
        **WALK,
        seed=7,
        threads=2,
        checkpoint_every=500,
        stop_at=10_000,
        frames={"enabled": False, "grid": 4},
        pass_env_vars=["HILL_KEY"],
        env_vars={"HILL_SIZE": "3"},
        grace_seconds=3,
        learning_rate=0.125,
    )
    assert isinstance(rich, Run)
    code = code_of(rich)
    assert "a secret" not in code and 'pass_env_vars=["HILL_KEY", "HILL_SIZE"]' in code
    recorded = rich.path / "request.json"
    assert json.loads(recorded.read_text()) == {
        "worker": "toy", **WALK, "seed": 7, "threads": 2, "checkpoint_every": 500, "stop_at": 10_000,
        "frames": {"enabled": False, "grid": 4}, "pass_env_vars": ["HILL_KEY", "HILL_SIZE"],
        "grace_seconds": 3.0, "hyperparameters": {"learning_rate": 0.125},
    }, "the given arguments, without the values of environment variables"  # fmt: skip
    recorded.unlink()
    assert code_of(Run(rich.path)) == code, "runs of earlier versions have no request.json"
    monkeypatch.setenv("HILL_SIZE", "3")
    again = eval(code, {"lab": lab})
    own = {"run_id", "run_dir"}
    assert {k: v for k, v in again.config.items() if k not in own} == {
        k: v for k, v in rich.config.items() if k not in own
    }
    assert code_of(again) == code
    for run in (plain, rich, again):
        run.stop(0)
    hidden = code_of(lab.train("toy", **WALK | {"total_timesteps": 5}, frames=False).wait(60))
    assert hidden.endswith("frames=False)") or "frames=False,\n)" in hidden


def test_a_request_is_read_from_the_files_of_its_run(tmp_path: Path) -> None:
    checkpoint = tmp_path / "step-1.pt"
    checkpoint.touch()
    request = TrainRequest(
        worker="toy", algorithm="walk", env="Hill-v0", total_timesteps=9, seed=7, gpus=1, threads=2,
        checkpoint_every=5, resume_from=str(checkpoint), stop_at=8, frames={"enabled": False, "grid": 4},
        films="last", wrappers=["flat"], pass_env_vars=["HILL_KEY"], grace_seconds=3.0, on="lab", restarts=2,
        hyperparameters={"learning_rate": 0.125, "env_kwargs": {"start": (3, 3)}},
    )  # fmt: skip
    written = TrainRequest(worker="toy")
    launched = {
        name: value
        for name, value in request.keywords().items()
        if name not in (*request.config(), "pass_env_vars")
    }
    launched["environment_names"] = ["HILL_KEY", "PATH"]
    assert TrainRequest.of_files("toy", request.config(), launched) == request
    assert TrainRequest.of_files("toy", written.config(), {}) == written
    stage = Stage("Hill-v0", steps=5, env_kwargs={"start": (3, 3)})
    assert Stage.from_json(json.loads(json.dumps(stage.to_json()))).hyperparameters == stage.hyperparameters


def test_what_a_folder_says_is_never_code(tmp_path: Path) -> None:
    evil = 'x=1); __import__("os").abort() #'
    config = {
        "algorithm": f'"{evil}',
        "env_id": "\\",
        "seed": 1,
        "hyperparameters": {evil: [evil, {"a": 1e400}], "class": None, "net": "line\nbreak"},
        "checkpoint": "nonsense",
        "fastlane": {evil: evil},
    }
    write_json(tmp_path / "config.json", config)
    write_json(tmp_path / "launch.json", {"worker": evil, "films": evil, "environment_names": [evil, 3]})
    tree = ast.parse(code_of(Run(tmp_path)), mode="eval").body
    assert isinstance(tree, ast.Call) and ast.unparse(tree.func) == "lab.train"
    called = [ast.unparse(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)]
    assert called == ["lab.train", "float"]
    write_json(tmp_path / "launch.json", {})
    (tmp_path / "config.json").unlink()
    assert code_of(Run(tmp_path)) == ""
    write_json(tmp_path / "config.json", config)
    write_json(
        tmp_path / "request.json", {"worker": evil, evil: evil, "films": evil, "pass_env_vars": [evil, 3]}
    )
    tree = ast.parse(code_of(Run(tmp_path)), mode="eval").body
    assert [ast.unparse(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)] == ["lab.train"]
