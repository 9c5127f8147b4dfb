"""What cannot be trained is refused in a second, before anything trains, with a message that helps."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from typing import Any

import pytest
from operators.conversation import Conversation
from shim_kit.promise_checks import (  # noqa: F401
    assert_environments_are_checked,
    assert_keyword_arguments_are_passed,
    promises,
)

CARTPOLE = {"algorithm": "ppo", "env_id": "CartPole-v1"}


def test_hyperparameters_by_upstreams_names_with_its_defaults(worker: Any) -> None:
    code, resolved, _ = worker.check(**CARTPOLE, learning_rate=1e-3, num_envs=2)
    assert code == 0
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
    assert " torch" not in done.stderr  # importtime: no such module was imported
    assert "gymnasium" not in done.stderr


def test_a_script_that_is_no_algorithm_here_is_named_with_the_line_that_runs_it(worker: Any) -> None:
    if not worker.legacy:  # of current upstream each script is an algorithm, or refused with the reason
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
    for wrong in ("../ppo", "_version", "utils"):
        assert "cleanrl/" not in worker.error(algorithm=wrong, env_id="CartPole-v1")


def test_a_check_does_not_import_torch(worker: Any) -> None:
    config = json.dumps({"run_id": "x", "total_timesteps": 512, **CARTPOLE})
    path = worker.folder / "quick.json"
    path.write_text(config)
    command = [worker.python, "-X", "importtime", *worker.command(path)[1:], "--dry-run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "gymnasium" in done.stderr
    assert " torch" not in done.stderr


def test_an_unknown_hyperparameter_names_the_nearest(worker: Any) -> None:
    assert "did you mean 'learning_rate'?" in worker.error(**CARTPOLE, learning_rte=1e-3)


def test_a_field_of_the_configuration_is_no_hyperparameter(worker: Any) -> None:
    message = worker.error(**CARTPOLE, hyperparameters={"env_id": "Acrobot-v1"})
    assert message == "'env_id' is a field of the configuration (lab.train's env=), not a hyperparameter"


def test_where_no_name_is_near_exactly_the_hyperparameters_are_listed(worker: Any) -> None:
    code, resolved, _ = worker.check(**CARTPOLE)
    assert code == 0
    listed = worker.error(**CARTPOLE, device="cuda").partition("; known are ")[2]
    assert listed.split(", ") == sorted(resolved["hyperparameters"])


def test_a_wrong_type(worker: Any) -> None:
    assert "num_envs" in worker.error(**CARTPOLE, num_envs="four")
    assert "expected float, got str 'fast'" in worker.error(**CARTPOLE, learning_rate="fast")


def test_numbers_outside_their_limits(worker: Any) -> None:
    message = worker.error(**CARTPOLE, num_envs=0, gamma=1.5, learning_rate=0)
    for reason in ("'num_envs': 0 is less than 1", "'gamma': 1.5 is more than 1", "0.0 is not above 0"):
        assert reason in message


def test_all_problems_at_once(worker: Any) -> None:
    message = worker.error(**CARTPOLE, learning_rte=1e-3, gamma="high", track=True)
    assert all(name in message for name in ("learning_rte", "gamma", "track"))


def test_an_environment_that_does_not_exist(worker: Any) -> None:
    assert "'CartPol-v1' cannot be made here" in worker.error(algorithm="ppo", env_id="CartPol-v1")
    assert "CartPole" in worker.error(algorithm="ppo", env_id="CartPol-v1")


def test_an_unknown_algorithm(worker: Any) -> None:
    assert "did you mean 'ppo'?" in worker.error(algorithm="pppo", env_id="CartPole-v1")
    listed = worker.error(algorithm="reinforce", env_id="CartPole-v1").partition("; known are ")[2]
    assert listed.split(", ") == sorted(worker.algorithms)


def test_a_space_that_does_not_fit(worker: Any) -> None:
    assert "sac needs continuous actions; CartPole-v1 has" in worker.error(
        algorithm="sac", env_id="CartPole-v1"
    )
    message = worker.error(algorithm="dqn", env_id="Pendulum-v1")
    assert "dqn needs discrete actions; Pendulum-v1 has" in message
    others = "td3, sac" if worker.legacy else "ddpg, td3, sac, rpo"
    assert f"(for those: ppo_continuous, {others})" in message
    assert "needs vectors" in worker.error(algorithm="ppo", env_id="FrozenLake-v1")


def test_ppo_takes_the_script_that_fits_the_actions(worker: Any) -> None:
    for algorithm, env_id, runs, script in (
        ("PPO", "CartPole-v1", "ppo", "ppo"),
        ("ppo", "Pendulum-v1", "ppo_continuous", "ppo_continuous_action"),
        ("ppo_continuous_action", "Pendulum-v1", "ppo_continuous", "ppo_continuous_action"),
    ):
        code, resolved, stderr = worker.check(algorithm=algorithm, env_id=env_id)
        assert code == 0, stderr
        assert (resolved["algorithm"], resolved["upstream"]["script"]) == (runs, f"cleanrl.{script}")
        assert ("ppo runs as ppo_continuous" in stderr) == (algorithm == "ppo")


def test_a_training_that_would_learn_nothing(worker: Any) -> None:
    assert "less than one rollout" in worker.error(**{**CARTPOLE, "total_timesteps": 500})
    minibatches = "n_minibatch" if worker.legacy else "num_minibatches"
    message = worker.error(**CARTPOLE, num_envs=1, num_steps=2, **{minibatches: 4})
    assert "does not make 4 minibatches" in message


def test_video_of_what_does_not_render(worker: Any) -> None:
    message = worker.error(algorithm="ppo", env_id="Reacher-v4", capture_video=True)
    assert "cannot be rendered here" in message or "renders" in message


def test_ddpg_trains_or_is_declared_unavailable_with_the_reason(worker: Any) -> None:
    if worker.legacy:
        message = worker.error(algorithm="ddpg", env_id="Pendulum-v1")
        assert "ddpg is not available with CleanRL 0.4.8" in message
        assert "Actor()" in message
        assert "ddpg" not in worker.algorithms
    else:
        assert worker.trained("ddpg").code == 0
        assert "ddpg" in worker.algorithms


@pytest.mark.extended
@pytest.mark.usefixtures("promises")
def test_environments_are_checked_and_actions_from_one_are_played(worker: Any) -> None:
    small = {"algorithm": "ppo", "num_envs": 1, "num_steps": 64, "total_timesteps": 128}
    with Conversation([worker.python, "-m", "cleanrl_worker.cli"]) as operators:
        assert_environments_are_checked(worker, operators, **small)
    assert_keyword_arguments_are_passed(worker, **small)
