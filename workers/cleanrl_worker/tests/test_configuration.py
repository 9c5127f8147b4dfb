"""Untrainable configurations are refused before training starts, with a helpful message."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
from shim_kit.promise_checks import (  # noqa: F401
    assert_environments_are_checked,
    assert_keyword_arguments_are_passed,
    promises,
)
from shim_kit.training_worker import WRAPPER_CHECKS, assert_refused

CARTPOLE = {"algorithm": "ppo", "env_id": "CartPole-v1"}
PICTURES = {"env_id": "CarRacing-v2", "env_kwargs": {"continuous": False}}


def test_hyperparameters_by_upstreams_names_with_its_defaults(worker: Any) -> None:
    resolved = worker.resolved(**CARTPOLE, learning_rate=1e-3, num_envs=2, total_timesteps=2048)
    values = resolved["hyperparameters"]
    assert (values["learning_rate"], values["num_envs"], values["num_steps"]) == (1e-3, 2, 128)
    assert "--learning-rate=0.001" in resolved["arguments"]
    assert not {"track", "prod_mode", "wandb_project_name", "batch_size"} & set(values)
    assert resolved["steps"] == 2048


def test_description_lists_the_hyperparameters_of_every_algorithm(worker: Any) -> None:
    command = [worker.python, "-X", "importtime", "-m", "cleanrl_worker.cli", "--describe"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    described = json.loads(done.stdout)
    assert set(described["hyperparameters"]) == set(described["capabilities"]["algorithms"])
    gamma = next(p for p in described["hyperparameters"]["dqn"] if p["name"] == "gamma")
    assert gamma["type"] == "float"
    assert gamma["default"] == 0.99
    assert gamma["help"]
    assert " torch" not in done.stderr  # importtime: the module was not imported
    assert " gymnasium" not in done.stderr


def test_a_script_that_is_no_algorithm_here_is_named_with_the_line_that_runs_it(worker: Any) -> None:
    if not worker.legacy:  # current upstream: every script is an algorithm or has a refusal
        said = worker.error(algorithm="ppo_rnd_envpool", env_id="ALE/Pong-v5")
        assert "cleanrl/ppo_rnd_envpool.py trains on environments of EnvPool" in said
        return
    name, env = "rnd_ppo", "--gym-id"
    said = worker.error(algorithm=name, env_id="CartPole-v1", total_timesteps=9, learning_rate=0.1)
    assert f"unknown algorithm '{name}' of this worker, but there is a script cleanrl/{name}.py" in said
    assert "did you mean" not in said
    line = re.search(r'lab\.train\("script", command=(\[.*?\]), tensorboard="runs", seed=1\)', said)
    flags = [f"{env}=CartPole-v1", "--seed={seed}", "--total-timesteps=9", "--learning-rate=0.1"]
    assert line and json.loads(line[1]) == [worker.python, "-m", f"cleanrl.{name}", *flags]
    words = shlex.split(said.partition("in a shell mosaic-lab train script ")[2])
    assert words == [f"command={line[1]}", "tensorboard=runs", "--seed", "1"]
    wrong = [{**CARTPOLE, "algorithm": name} for name in ("../ppo", "_version", "utils")]
    assert all(error and "cleanrl/" not in error for error in worker.errors(*wrong))


def test_a_check_does_not_import_torch(worker: Any) -> None:
    path = worker.write({"total_timesteps": 512, **CARTPOLE})
    command = [worker.python, "-X", "importtime", "-m", worker.module, "--config", str(path), "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "gymnasium" in done.stderr
    assert " torch" not in done.stderr


def bad_configurations(legacy: bool) -> dict[str, tuple[dict[str, Any], str]]:
    """Return changes of a valid configuration, each with a part of its error."""
    others = "td3, sac" if legacy else "ddpg, td3, sac, rpo"
    minibatches = "n_minibatch" if legacy else "num_minibatches"
    dqn, missing = {"algorithm": "dqn", "env_id": "Pendulum-v1"}, {"env_id": "CartPol-v1"}
    return {
        "range": ({"gamma": 1.5}, "'gamma': 1.5 is more than 1"),
        "zero": ({"learning_rate": 0}, "0.0 is not above 0"),
        "track": ({"track": True}, "track"),
        "environment": (missing, "'CartPol-v1' cannot be made here"),
        "nearest environment": (missing, "did you mean 'CartPole-v1'?"),
        "algorithm": ({"algorithm": "pppo"}, "did you mean 'ppo'?"),
        "longer algorithm": (
            {"algorithm": "rainbow"},
            "; rainbow_atari is not available with" if legacy else "; did you mean 'rainbow_atari'?",
        ),
        "continuous": ({"algorithm": "sac"}, "sac needs continuous actions; CartPole-v1 has"),
        "discrete": (dqn, "dqn needs discrete actions; Pendulum-v1 has"),
        "algorithms that fit": (dqn, f"; for these actions use ppo_continuous, {others}"),
        "observations": ({"env_id": "FrozenLake-v1"}, "needs vectors"),
        "observations in short": (
            {"env_id": "MiniGrid-Empty-5x5-v0"},
            "-v0 has Dict(direction: Discrete(4), image: Box(7×7×3), mission: MissionSpace)",
        ),
        "pictures": (
            PICTURES,
            "has Box(96×96×3); lab.train's wrappers= makes vectors of them: ['grey', {'resize': [32, 32]}, "
            "'flat'] or ['flat']; for convolutional networks train ppo of sb3, xuance or rllib",
        ),
        "short": ({"total_timesteps": 500}, "less than one rollout"),
        "minibatches": ({"num_envs": 1, "num_steps": 2, minibatches: 4}, "does not make 4 minibatches"),
    }


def test_bad_configurations(worker: Any, subtests: pytest.Subtests) -> None:
    assert_refused(worker, bad_configurations(worker.legacy), subtests, **CARTPOLE)


def test_pictures_are_observed_through_the_wrappers_that_the_refusal_names(worker: Any) -> None:
    small = {"num_envs": 1, "num_steps": 16, "total_timesteps": 16, "num_minibatches": 1, "n_minibatch": 1}
    unknown = "num_minibatches" if worker.legacy else "n_minibatch"
    wrappers = ["grey", {"resize": [32, 32]}, "flat"]
    small = {name: value for name, value in small.items() if name != unknown}
    run = worker.train(algorithm="ppo", wrappers=wrappers, **PICTURES, **small)
    assert run.code == 0, run.log


def test_where_no_name_is_near_exactly_those_there_are_are_listed(worker: Any) -> None:
    wrong = {**CARTPOLE, "device": "cuda"}, {**CARTPOLE, "algorithm": "reinforce"}
    known = worker.resolved(**CARTPOLE)["hyperparameters"], worker.hyperparameters
    for error, names in zip(worker.errors(*wrong), known, strict=True):
        assert error.partition("; known: ")[2].split(", ") == sorted(names)


def test_ppo_takes_the_script_that_fits_the_actions(worker: Any) -> None:
    for algorithm, env_id, runs, script in (
        ("PPO", "CartPole-v1", "ppo", "ppo"),
        ("ppo", "Pendulum-v1", "ppo_continuous", "ppo_continuous_action"),
        ("ppo_continuous_action", "Pendulum-v1", "ppo_continuous", "ppo_continuous_action"),
    ):
        resolved, log = worker.dry_run(0, algorithm=algorithm, env_id=env_id)
        assert (resolved["algorithm"], resolved["upstream"]["script"]) == (runs, f"cleanrl.{script}")
        assert ("ppo runs as ppo_continuous" in log) == (algorithm == "ppo")


def test_video_of_what_does_not_render(worker: Any) -> None:
    message = worker.error(algorithm="ppo", env_id="Reacher-v4", capture_video=True)
    assert "cannot be rendered here" in message or "renders" in message


def test_ddpg_trains_or_is_declared_unavailable_with_the_reason(worker: Any) -> None:
    if worker.legacy:
        message = worker.error(algorithm="ddpg", env_id="Pendulum-v1")
        assert "ddpg is not available with CleanRL 0.4.8" in message
        assert "Actor()" in message
        assert "ddpg" not in worker.hyperparameters
    else:
        assert worker.trained("ddpg").code == 0
        assert "ddpg" in worker.hyperparameters


def test_wrappers_are_played_as_trained_and_wrong_ones_refused(worker: Any, tmp_path: Path) -> None:
    assert worker.output_of(str(WRAPPER_CHECKS), str(tmp_path))
