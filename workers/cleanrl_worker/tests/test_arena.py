"""The worker's environments in arenas, and comparisons of its policies on them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from arenas.comparison_fixtures import Compare, start_comparison  # noqa: F401
from worker_fixtures import cleanrl_environment  # noqa: F401

import mosaic_lab as mosaic
from mosaic_lab import operators
from mosaic_lab.errors import ConfigurationError


def open_arena(worker: Any, env_id: str, folder: Path, **settings: Any) -> dict[str, Any]:
    """Open an environment in an arena and return the arena's answer."""
    commands: list[dict[str, Any]] = [
        {"cmd": "open", "protocol": 1, "run_id": "arena", "env_id": env_id, "settings": settings}
        | {"folder": str(folder), "max_steps": None},
        {"cmd": "close"},
    ]
    done = subprocess.run(
        [worker.python, "-m", "cleanrl_worker.cli", "--arena"],
        input="".join(json.dumps(command) + "\n" for command in commands),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return answer


def test_it_holds_the_environments_that_it_trains_on(worker: Any, tmp_path: Path) -> None:
    """The worker's Gymnasium has LunarLander-v2, which newer versions lack."""
    opened = open_arena(worker, "LunarLander-v2", tmp_path, continuous=True)
    assert opened["type"] == "opened", opened
    assert opened["spaces"]["agent_0"]["action"]["shape"] == [2]
    assert opened["renders"] is True
    refused = open_arena(worker, "LunaLander-v2", tmp_path)
    assert refused["type"] == "error"
    assert "cannot be made here: Environment `LunaLander` doesn't exist" in refused["message"]


def test_an_environment_that_cannot_be_made_to_draw_is_held_without_frames(
    worker: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("peers")))
    opened = open_arena(worker, "odd_environments:Shy-v0", tmp_path)
    assert opened["type"] == "opened", opened
    assert opened["renders"] is False
    assert opened["render_reason"].endswith("cannot be made with rgb_array: ValueError: not in public")


def test_the_release_holds_the_old_gyms_environments_too(worker: Any, tmp_path: Path) -> None:
    bullet = open_arena(worker, "InvertedPendulumBulletEnv-v0", tmp_path)
    if not worker.legacy:
        assert bullet["type"] == "error"
        return
    assert bullet["spaces"]["agent_0"]["observation"]["shape"] == [5]
    assert bullet["renders"] is True


@pytest.mark.extended
def test_an_environment_that_only_this_worker_has_is_made_by_it(
    tmp_path: Path,
    cleanrl_environment: Any,  # noqa: F811
    start_comparison: Compare,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A policy trained on MuJoCo's HalfCheetah is compared and evaluated without further settings."""
    lab = mosaic.Lab(tmp_path / "runs")
    run = lab.train(
        "cleanrl", algorithm="ppo_continuous", env="HalfCheetah-v4", total_timesteps=256, num_steps=128
    )
    both = {"PPO": operators.rl(run.wait()), "random": operators.random()}
    comparison = start_comparison("HalfCheetah-v4", both, max_steps=5)
    said = "HalfCheetah-v4 is made by worker 'cleanrl', which trained ppo_continuous, because 'gymnasium'"
    assert said in capsys.readouterr().out
    comparison.play()
    comparison.wait(60)
    assert len(comparison.results()) == 2
    assert comparison.view()["environment"] == "HalfCheetah-v4 (worker cleanrl)"
    evaluation = lab.evaluate(env="HalfCheetah-v4", operators=both, seeds=[1], max_steps=5).wait(120)
    assert evaluation.summary().attrs["environment"] == "HalfCheetah-v4 (worker cleanrl)"
    with pytest.raises(ConfigurationError) as caught:
        start_comparison("HalfCheetah-v4", {"random": operators.random()})
    assert 'It can be made here with family="cleanrl"' in str(caught.value)
    assert "MuJoCo is not installed" in str(caught.value) and "pip install" not in str(caught.value)
