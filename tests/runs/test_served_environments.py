"""Served environments: trainings on an environment that another worker provides and serves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import PEERS, wait_until

import mosaic_lab as mosaic
from mosaic_lab import workers
from mosaic_lab.errors import ConfigurationError, RunFailed
from mosaic_lab.runs import Run

ENV = "Corridor-v0"
SMALL = {"num_envs": 2, "n_steps": 50, "batch_size": 50, "n_epochs": 2, "seed": 1}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, mosaic_home: Path) -> Iterator[mosaic.Lab]:
    workers.install(PEERS / "walks_family")
    yield mosaic.Lab(tmp_path_factory.mktemp("served"))
    workers.remove("walks")


@pytest.fixture(scope="module")
def run(lab: mosaic.Lab) -> Run:
    """A training with masks, environment settings and a film, ended by `stop_at` after half its steps."""
    run = lab.train(
        *("sb3",), algorithm="maskable_ppo", env=ENV, total_timesteps=400, stop_at=200, films="last",
        env_kwargs={"speed": 2}, **SMALL,
    )  # fmt: skip
    run.wait(300)
    assert run.state == "completed", run.reason
    return run


def test_the_worker_of_the_environment_is_recorded_and_its_files_are_in_the_run(run: Run) -> None:
    assert run.config["environment_server"]["worker"] == "walks"
    origin = json.loads(run.folder.provenance_path.read_text())["environment"]
    assert (origin["worker"], origin["environment_server"]["worker"]) == ("sb3", "walks")
    assert (run.path / "corridor.txt").read_text() == "here"
    log = (run.path / "worker.log").read_text()
    assert "a new walk" in log
    assert "info['engine'] is not passed to the training: TypeError" in log


def test_it_is_resumed_filmed_and_evaluated(lab: mosaic.Lab, run: Run) -> None:
    resumed = lab.train("sb3", algorithm="maskable_ppo", env=ENV, total_timesteps=400, resume_from=run)
    resumed.wait(300)
    assert (resumed.state, resumed.step) == ("completed", 400), resumed.reason
    trained = {"trained": mosaic.operators.rl(run)}
    evaluation = lab.evaluate(env=ENV, operators=trained, seeds=[1, 2], parallel=1).wait(120)
    assert (evaluation.results()["length"] < 20).all(), "evaluated at the training's speed"
    wait_until(lambda: [film.step for film in run.films] == [200], timeout=120)


TEAM = {
    "xuance": {"algorithm": "mappo", "parallels": 2, "buffer_size": 100},
    "rllib": {
        "algorithm": "ppo", "num_env_runners": 1, "train_batch_size_per_learner": 100, "minibatch_size": 50,
    },
}  # fmt: skip


@pytest.mark.extended
@pytest.mark.parametrize("worker", TEAM)
def test_a_team_is_trained_resumed_filmed_and_evaluated(lab: mosaic.Lab, worker: str) -> None:
    """The team has dict observations and actions that start at 1; its agents leave at different steps."""
    team = {"env": "Corridors-v0", "env_kwargs": {"speeds": (2, 3)}, "wrappers": ["flat"]}
    small = {**TEAM[worker], "seed": 1, "total_timesteps": 400}
    run = lab.train(worker, **team, **small, stop_at=200, films="last")
    run.wait(300)
    assert run.state == "completed", run.reason
    assert run.config["environment_server"]["worker"] == "walks"
    resumed = lab.train(worker, **team, **small, resume_from=run)
    resumed.wait(300)
    assert resumed.state == "completed" and resumed.step >= 400, resumed.reason
    trained = {"trained": mosaic.operators.rl(run)}
    evaluation = lab.evaluate(env="Corridors-v0", operators=trained, seeds=[1, 2]).wait(120)
    assert list(evaluation.results()["length"] <= 20) == [True, True]
    wait_until(lambda: [film.step for film in run.films] == [run.step], timeout=120)


SELF_PLAY = {
    "tianshou": {
        "algorithm": "dqn", "total_timesteps": 200, "num_training_envs": 4, "start_timesteps": 40,
        "hidden_sizes": [16],
    },
    "rllib": {
        "algorithm": "ppo", "total_timesteps": 200, "num_env_runners": 0, "minibatch_size": 50,
        "train_batch_size_per_learner": 100, "fcnet_hiddens": [16],
    },
}  # fmt: skip


@pytest.mark.parametrize("worker", ["tianshou", pytest.param("rllib", marks=pytest.mark.extended)])
def test_a_game_in_turns_is_trained_by_self_play_and_evaluated(lab: mosaic.Lab, worker: str) -> None:
    """The first of three players may end the game alone; the action mask is only in the info."""
    game = {"env": "Race-v0", "env_kwargs": {"length": 2, "players": 3}}
    run = lab.train(worker, **game, **SELF_PLAY[worker], seed=1)
    run.wait(300)
    assert run.state == "completed", run.reason
    assert run.config["environment_server"]["worker"] == "walks"
    assert set(run.episodes()["agent_id"]) == {"red_0", "blue_0", "green_0"}
    others = {agent: mosaic.operators.random() for agent in ("blue_0", "green_0")}
    lanes = {"trained": {"red_0": mosaic.operators.rl(run), **others}}
    results = lab.evaluate(**game, operators=lanes, seeds=range(4), parallel=1).wait(120).results()
    assert not results.empty and results["illegal"].sum() == 0


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        (
            "Corridors-v0",
            "Corridors-v0 has several agents (red_0, red_1), which act at once: this worker does not train "
            "them. Train teams with worker 'xuance' or 'rllib'",
        ),
        ("Corridor-v7", "worker 'walks' has no environment 'Corridor-v7'"),
        ("Coridor-v0", "worker 'walks' has no environment 'Coridor-v0'"),
    ],
)
def test_what_cannot_be_served_is_refused_before_anything_starts(
    lab: mosaic.Lab, env: str, reason: str
) -> None:
    before = len(lab.runs)
    with pytest.raises(ConfigurationError) as refused:
        lab.train("sb3", algorithm="ppo", env=env, total_timesteps=400, **SMALL)
    assert reason in str(refused.value)
    assert len(lab.runs) == before


PENDULUM = {
    "sb3": {"num_envs": 3, "n_steps": 50, "batch_size": 50, "n_epochs": 2},
    "tianshou": {"num_training_envs": 3, "collection_step_num_env_steps": 150},
    "xuance": {"parallels": 3, "horizon_size": 50},
    "cleanrl": {"num_envs": 3, "num_steps": 50},
}
EXTENDED = [pytest.param(worker, marks=pytest.mark.extended) for worker in ("tianshou", "xuance", "cleanrl")]


@pytest.mark.parametrize("worker", ["sb3", *EXTENDED])
def test_environments_in_several_processes_play_the_same_episodes(lab: mosaic.Lab, worker: str) -> None:
    """A wrapper outside the served environment rescales the actions."""
    algorithm = "ppo_continuous_action" if worker == "cleanrl" else "ppo"
    pendulum = {"algorithm": algorithm, "env": "Pendulum-v1", "wrappers": [{"rescale_action": [-1, 1]}]}
    keywords = {**pendulum, **PENDULUM[worker], "total_timesteps": 1_200, "seed": 1}
    runs = [lab.train(worker, **keywords, env_processes=count) for count in (None, 1, 2)]
    for run in runs:
        run.wait(300)
    returns = [list(run.episodes()["total_reward"]) for run in runs]
    assert returns[1] == returns[2] and len(returns[0]) > 1
    assert returns[0] == pytest.approx(returns[1], rel=1e-4), "the server has another Gymnasium version"
    served = [run.config.get("environment_server", {}).get("processes") for run in runs]
    assert served == [None, 1, 2]


@pytest.mark.extended
def test_teams_in_several_processes_play_the_same_episodes(lab: mosaic.Lab) -> None:
    team = {**TEAM["xuance"], "env": "simple_spread_v3", "total_timesteps": 200, "seed": 1}
    runs = [lab.train("xuance", **team, env_processes=count) for count in (None, 1, 2)]
    for run in runs:
        run.wait(300)
    returns = [list(run.episodes()["total_reward"]) for run in runs]
    assert returns[0] == returns[1] == returns[2] and len(returns[0]) > 1


def test_a_step_that_takes_too_long_ends_the_training(lab: mosaic.Lab) -> None:
    run = lab.train(
        "sb3", algorithm="ppo", env=ENV, total_timesteps=400, env_kwargs={"pause": 60}, step_timeout=1,
        wrappers=["flat"], **SMALL,
    )  # fmt: skip
    with pytest.raises(RunFailed, match=r"the environment's step took longer than 1 s \(step_timeout\)"):
        run.wait(120)


@pytest.mark.parametrize(
    ("worker", "given", "reason"),
    [
        ("sb3", {"step_timeout": 5}, "CartPole-v1 is made in the training's process"),
        ("sb3", {"env_processes": 0}, "env_processes=0: must be an integer ≥ 1"),
        ("jumanji", {"env_processes": 2}, "worker 'jumanji' makes its environments itself"),
        ("rllib", {"env_processes": 2}, "give num_env_runners, their number"),
    ],
)
def test_processes_that_a_training_cannot_have_are_refused(
    lab: mosaic.Lab, worker: str, given: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(reason)):
        lab.train(worker, algorithm="ppo", **{"env": "CartPole-v1", "total_timesteps": 400, **given})
