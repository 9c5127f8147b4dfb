"""Curricula of real libraries: they outlive the process that started them, a stop and a resume; films."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.keeper.states import State

PROGRAM = """
import json, os, signal, sys
import mosaic_lab as mosaic

worker, steps, more = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
stages = [mosaic.Stage("CartPole-v0", steps=steps), mosaic.Stage("CartPole-v1", steps=2 * steps)]
print(mosaic.Lab("runs").train(worker, curriculum=stages, **more).id, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
ROLLOUTS = {"num_envs": 4, "num_steps": 64}
LIBRARIES = [
    ("cleanrl", 4_096, {"algorithm": "ppo", **ROLLOUTS}),
    ("tianshou", 4_000, {"algorithm": "ppo"}),
    ("xuance", 4_000, {"algorithm": "ppo", "parallels": 4, "horizon_size": 64}),
    ("sb3", 4_000, {"algorithm": "ppo", "num_envs": 4, "n_steps": 64}),
    ("rllib", 4_000, {"algorithm": "ppo", "num_env_runners": 0, "train_batch_size_per_learner": 500}),
]


@pytest.mark.extended
@pytest.mark.parametrize(("worker", "steps", "more"), LIBRARIES, ids=[name for name, _, _ in LIBRARIES])
def test_a_curriculum_outlives_its_kernel_and_a_stop(
    tmp_path: Path, worker: str, steps: int, more: dict[str, Any]
) -> None:
    command = [
        sys.executable,
        "-c",
        PROGRAM,
        worker,
        str(steps),
        json.dumps({**more, "checkpoint_every": 500}),
    ]
    started = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, timeout=900)
    assert started.returncode == -signal.SIGKILL, started.stderr
    lab = mosaic.Lab(tmp_path / "runs")
    curriculum = lab.run(started.stdout.split()[-1])
    try:
        wait_until(lambda: curriculum.finished or (curriculum.step or 0) > steps + 500, timeout=300)
        curriculum.stop()
        assert curriculum.state is State.CANCELLED, curriculum.log()
        curriculum.resume().wait(300)
    finally:
        lab.stop_all()
    stages = curriculum.stages()
    assert list(stages["state"]) == ["done", "done"] and list(stages["runs"].map(len)) == [1, 2]
    first, *second = curriculum.stage_runs
    assert first.config["env_id"] == "CartPole-v0"
    assert {run.config["env_id"] for run in second} == {"CartPole-v1"}
    assert stages["start"][2] == first.checkpoints[-1].step >= steps
    assert curriculum.metrics("episode_return")["step"].is_monotonic_increasing
    longest = [one["total_reward"].max() for one in (first.episodes(), second[-1].episodes())]
    assert longest[0] <= 200, "CartPole-v0 ends episodes at step 200"
    policy = mosaic.operators.rl(curriculum)
    assert (policy.worker, policy.trained_on) == (worker, "CartPole-v1")
    assert curriculum.checkpoints[-1].step == stages["end"][2]


@pytest.mark.extended
def test_checkpoints_of_all_stages_are_filmed_in_their_environments(tmp_path: Path) -> None:
    lab = mosaic.Lab(tmp_path / "runs")
    stages = [mosaic.Stage("CartPole-v0", steps=2_000), mosaic.Stage("CartPole-v1", steps=2_000)]
    given = {"algorithm": "ppo", "checkpoint_every": 2_000}
    try:
        run = lab.train("tianshou", curriculum=stages, films="each", **given)  # type: ignore[arg-type]
        assert isinstance(run, mosaic.Curriculum)
        run.wait(300)
        wait_until(lambda: not run.films.being_made, timeout=300)
    finally:
        lab.stop_all()
    assert [film.step for film in run.films] == [2_000, 4_000], run.films
    assert run.films_requested and not any(one.films_requested for one in run.stage_runs)
    assert all(film.episode_return == film.length <= 500 for film in run.films)
    assert not any(one.films for one in run.stage_runs)
    assert lab.make_films(run, [2_000]).wait(120).state is State.COMPLETED, (
        "a checkpoint was filmed a second time"
    )
