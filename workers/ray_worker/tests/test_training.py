"""One small training per family of algorithms: reports, checkpoints, resuming and stopping."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mosaic_contract.conformance.observed_process import ObservedProcess
from shim_kit.training_worker import SECONDS
from support import marked_processes, wait_until

import mosaic_lab as mosaic

LOSSES = {
    "ppo": {"policy_loss", "learners/default_policy/policy_loss", "learners/default_policy/vf_loss"},
    "impala": {"learners/default_policy/mean_pi_loss", "learners/default_policy/mean_vf_loss"},
    "dqn": {"learners/default_policy/qf_loss"},
    "sac": {"learners/default_policy/qf_loss", "learners/default_policy/alpha_value"},
    "team": {"policy_loss", "learners/good/policy_loss", "learners/adversary/policy_loss"},
}
COMMON = {
    "value_loss",
    "episode_return",
    "episode_length",
    "steps_per_second",
    "env_runners/episode_return_mean",
}


@pytest.mark.parametrize(
    "name",
    ["ppo", "team", *(pytest.param(name, marks=pytest.mark.extended) for name in ("sac", "impala", "dqn"))],
)
def test_a_training_reports_everything_and_saves(worker: Any, name: str) -> None:
    run = worker.trained(name)
    assert run.code == 0, run.log
    assert LOSSES[name] | COMMON <= set(run.metrics)
    (done,) = run.events("run_completed")
    steps = done["final_metrics"]["steps"]
    assert steps == run.metrics["env_runners/num_env_steps_sampled_lifetime"]
    assert steps >= worker.small[name]["total_timesteps"]
    assert run.checkpoints[-1].name == f"step-{steps}.pt"
    described = json.loads(run.checkpoints[-1].with_suffix(".json").read_text())
    assert described["format"] == "mosaic-rllib/1"
    assert run.checkpoints[-1].with_suffix(".rllib").is_dir()
    assert list((run.checkpoints[-1].parents[1] / "tensorboard").glob("events*"))
    assert run.leftovers == []


def test_an_episode_of_a_team_is_reported_for_each_agent(worker: Any) -> None:
    """The episode's return is the mean over its agents; upstream reports the sum."""
    run = worker.trained("team")
    last = run.episodes[-4:]
    assert {episode["agent_id"] for episode in last} == {"agent_0", *(f"adversary_{n}" for n in range(3))}
    assert len({episode["episode_index"] for episode in last}) == 1
    assert all(episode["truncated"] and episode["steps"] == 25 for episode in run.episodes)
    mean = sum(episode["total_reward"] for episode in last) / 4
    assert run.metrics["episode_return"] == pytest.approx(mean)
    newest = 4 * int(run.metrics["env_runners/num_episodes"])  # of the last iteration
    summed = 4 * sum(episode["total_reward"] for episode in run.episodes[-newest:]) / newest
    assert run.metrics["env_runners/episode_return_mean"] == pytest.approx(summed)


@pytest.mark.extended
def test_the_same_seed_gives_the_same_training_and_a_step_for_each_episode(worker: Any) -> None:
    """Trainings with environments in the run's own process are reproducible."""

    def returns(run: Any) -> list[tuple[int, float]]:
        return [(episode["step"], episode["total_reward"]) for episode in run.episodes]

    first = returns(worker.trained("ppo"))
    assert returns(worker.train(**worker.configuration("ppo"))) == first
    assert len({step for step, _ in first}) == len(first) > 3
    assert all(later - step == total for (step, _), (later, total) in pairwise(first))


def test_what_takes_long_is_logged(worker: Any) -> None:
    log = worker.trained("ppo").log
    steps = ["importing RLlib", "joining the Ray cluster", "building ppo", "after 200 steps and 4 updates"]
    assert re.findall("|".join(steps), log) == steps


@pytest.mark.extended
def test_a_training_is_resumed_from_a_checkpoint(worker: Any) -> None:
    """Also for fewer steps than precede learning, which the first training has already taken."""
    first = worker.trained("sac")
    saved = first.checkpoints[-1]
    step = int(saved.stem.removeprefix("step-"))
    longer = {"env_id": "Pendulum-v1", "total_timesteps": step + 100}  # the checkpoint has the rest
    address = worker.cluster.address
    on = worker.resume(saved, algorithm="sac", **longer, address=address)
    assert on.events("run_started")[0]["config"]["hyperparameters"]["fcnet_hiddens"] == [32]
    assert min(payload["step"] for payload in on.events("metrics")) > step
    assert on.metrics["env_runners/num_env_steps_sampled_lifetime"] > step
    trained = "learners/default_policy/num_module_steps_trained_lifetime"
    assert on.metrics[trained] > first.metrics[trained] > 0


@pytest.mark.extended
def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(worker: Any, tmp_path: Path) -> None:
    """The next attempt comes when the next checkpoint is due, not in each iteration."""
    (tmp_path / "checkpoints").write_text("a file, where there should be a folder")
    every = {"checkpoint": {"every_timesteps": 600}, "total_timesteps": 1000, "run_dir": str(tmp_path)}
    run = worker.train(**{**worker.configuration("ppo"), **every})
    assert re.findall(r"no checkpoint at step (\d+)", run.log) == ["600", "1000"]
    assert run.checkpoints == []
    assert run.code == 1 and "the checkpoint of the last step, 1,000, could not be saved" in run.log


@pytest.mark.extended
def test_a_stop_while_a_checkpoint_is_written_leaves_whole_ones(worker: Any, tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"

    def stop(trial: ObservedProcess) -> None:
        assert trial.wait(400, until=lambda: any(folder.glob("*.rllib.partial")))
        trial.signal(signal.SIGTERM)

    every = {"checkpoint": {"every_timesteps": 1}, "total_timesteps": 50_000_000, "run_dir": str(tmp_path)}
    run = worker.train(stop, **{**worker.configuration("ppo"), **every})
    assert run.code == 143, run.log
    whole = {path.with_suffix(suffix) for path in run.checkpoints for suffix in (".pt", ".json", ".rllib")}
    assert whole and set(folder.iterdir()) == whole


def test_a_run_with_a_ray_of_its_own_is_watched_and_stopped(worker: Any, tmp_path: Path) -> None:
    """The policy is saved even if the run is stopped twice; no process or folder of Ray remains."""
    lab = mosaic.Lab(tmp_path)
    run = lab.train(
        "rllib",
        algorithm="ppo",
        env="CartPole-v1",
        total_timesteps=50_000_000,
        num_env_runners=1,
        train_batch_size_per_learner=200,
        minibatch_size=100,
    )
    picture = tmp_path / "now.png"
    run.snapshot(str(picture), timeout=400)
    folder = _folder_of_ray(tmp_path)
    assert folder.is_dir()
    assert picture.read_bytes().startswith(b"\x89PNG")
    # Frames arrive before the first iteration ends.
    wait_until(lambda: any(not name.startswith("system/") for name in run.metrics()["name"]), SECONDS)
    (raylet,) = (one for one in marked_processes(tmp_path) if one.name() == "raylet")
    run.stop(wait=False)
    wait_until(lambda: raylet not in marked_processes(tmp_path), 60)
    with contextlib.suppress(ProcessLookupError):
        os.kill(run.status.worker_pid, signal.SIGTERM)  # while Ray shuts down and handles no signals
    run.wait(90)
    assert (run.state, run.outcome.signal) == ("cancelled", None)
    saved = run.checkpoints[-1]
    assert saved.path.name == f"step-{saved.step}.pt"
    assert not folder.exists() and not marked_processes(tmp_path)


def test_nothing_of_ray_stays_of_a_run_that_was_killed(tmp_path: Path, worker: Any) -> None:
    lab = mosaic.Lab(tmp_path)
    run = lab.train("rllib", algorithm="ppo", env="CartPole-v1", total_timesteps=50_000_000)
    wait_until(lambda: _folders_of_ray(tmp_path), SECONDS)
    folder = _folder_of_ray(tmp_path)
    os.kill(run.status.worker_pid, signal.SIGKILL)
    wait_until(lambda: run.finished, 60)
    assert run.outcome.signal == signal.SIGKILL
    assert not folder.exists() and not marked_processes(tmp_path)


def _folder_of_ray(store: Path) -> Path:
    """Return the socket folder of the run's Ray, from its processes' arguments."""
    (folder,) = _folders_of_ray(store)
    return Path(folder)


def _folders_of_ray(store: Path) -> set[str]:
    words = " ".join(word for process in marked_processes(store) for word in process.cmdline())
    return set(re.findall(r"/[^\s=]*/ray-\w{8}(?=/)", words))


@pytest.mark.extended
def test_a_stop_leaves_the_users_cluster_as_it_is(worker: Any) -> None:
    """The stop arrives while the run waits for its runner, as most stops do."""

    def stop(trial: ObservedProcess) -> None:
        assert trial.wait(400, until=lambda: any(m.get("event") == "metrics" for m in trial.messages()))
        trial.signal(signal.SIGTERM)

    long = {**worker.configuration("ppo"), "total_timesteps": 50_000_000, "num_env_runners": 1}
    sampling = {"train_batch_size_per_learner": 2000, "minibatch_size": 2000, "num_epochs": 1}
    run = worker.train(stop, **{**long, **sampling})
    assert run.code == 143, run.log
    (cancelled,) = run.events("run_cancelled")
    assert cancelled["partial_results"]["steps"] == run.events("checkpoint_saved")[-1]["step"]
    assert run.leftovers == []
    assert worker.cluster.status()


@pytest.mark.extended
def test_a_cluster_that_asks_for_no_token_is_joined_with_a_warning(
    worker: Any, open_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {**worker.configuration("ppo"), "address": open_cluster.address}
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    monkeypatch.setenv("HOME", str(tmp_path))  # a home without a token
    run = worker.train(**config)
    assert run.code == 0, run.log
    assert f"the Ray cluster at {open_cluster.address} requires no token: whoever reaches its" in run.log
    assert "requires no token" not in worker.trained("ppo").log


@pytest.mark.extended
def test_a_training_survives_the_loss_of_a_node(worker: Any) -> None:
    """The node with the only CPUs for one of the runners is killed; the log reports it."""
    cluster = worker.cluster
    node = cluster.add(f"--address={cluster.address}", "--num-cpus=1")

    def lose(trial: ObservedProcess) -> None:
        def metrics() -> int:
            return sum(m.get("event") == "metrics" for m in trial.messages())

        assert trial.wait(400, until=lambda: metrics() > 2)
        cluster.lose(node)
        assert trial.wait(400, until=lambda: "2 of 3 runners are left" in trial.stderr_path.read_text())
        then = metrics()
        assert trial.wait(400, until=lambda: metrics() > then + 2)
        trial.signal(signal.SIGTERM)

    many = {**worker.configuration("ppo"), "total_timesteps": 50_000_000, "num_env_runners": 3}
    run = worker.train(lose, **many, sample_timeout_s=10.0, env_runner_health_probe_timeout_s=5.0)
    assert run.code == 143, run.log
