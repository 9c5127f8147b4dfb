"""One small training per family of algorithms: reports, checkpoints and resuming."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from shim_kit.optimizers import learning_rates
from shim_kit.training_worker import assert_served_alike

import mosaic_lab as mosaic

UPSTREAM = Path(__file__).with_name("upstream_trains.py")
MATRIX = Path(__file__).with_name("matrix.py")
LOSSES = {
    "mappo": {"policy_loss", "agent_0/actor_loss", "agent_0/critic_loss", "loss", "learning_rate"},
    "qmix": {"loss_Q", "predictQ", "epsilon-greedy"},
    "coma": {"policy_loss", "actor_loss", "critic_loss", "epsilon-greedy"},
    "maddpg": {"policy_loss", "agent_0/loss_actor", "agent_0/loss_critic"},
    "dqn": {"Qloss", "predictQ", "epsilon-greedy"},
}
COMMON = {"value_loss", "episode_return", "episode_length"}
TEAM = ["agent_0", "agent_1", "agent_2"]
QUICK = ("mappo", "dqn")


def unruly_team(how: str) -> dict[str, Any]:
    """Configuration of a team environment that ends its process as `how` says."""
    return {"env_id": "unruly_v0", "env_kwargs": {"how": how}}


@pytest.mark.parametrize(
    "algorithm",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.extended) for name in LOSSES],
)
def test_a_training_reports_everything_and_saves(worker: Any, algorithm: str) -> None:
    run = worker.trained(algorithm)
    assert run.code == 0, run.log
    steps = worker.small[algorithm]["total_timesteps"]
    assert LOSSES[algorithm] | COMMON <= set(run.metrics)
    (done,) = run.events("run_completed")
    assert done["final_metrics"]["steps"] == steps
    assert run.checkpoints[-1].name == f"step-{steps}.pt"
    assert len(run.checkpoints) > 1
    described = json.loads(run.checkpoints[-1].with_suffix(".json").read_text())
    assert (described["algorithm"], described["format"]) == (algorithm, "mosaic-xuance/1")
    assert list((run.checkpoints[-1].parents[1] / "tensorboard").rglob("events*"))


def test_an_episode_of_a_team_is_reported_for_each_agent_and_its_return_is_their_mean(worker: Any) -> None:
    run = worker.trained("mappo")
    last = run.episodes[-3:]
    assert [episode["agent_id"] for episode in last] == TEAM
    assert len({episode["episode_index"] for episode in last}) == 1
    assert all(episode["truncated"] and episode["steps"] == 25 for episode in run.episodes)
    assert run.events("run_completed")[0]["episodes"] == 800 // 25
    mean = sum(episode["total_reward"] for episode in last) / 3
    assert run.metrics["episode_return"] == pytest.approx(mean)
    assert run.metrics["Train-Results/Episode-Rewards/rank_0/env-3"] == pytest.approx(mean)


def test_the_training_is_upstreams_own_number_for_number(worker: Any, tmp_path: Path) -> None:
    run = worker.trained("mappo")
    payloads = [payload["values"] for payload in run.events("metrics")]
    returns = [values["episode_return"] for values in payloads if "episode_return" in values]
    assert worker.output_of(str(UPSTREAM), str(tmp_path)) == pytest.approx(returns)


@pytest.mark.extended
def test_the_same_seed_gives_the_same_training(worker: Any) -> None:
    """Checked with QMIX, whose agents explore at random."""
    first = worker.trained("qmix")
    again = worker.train(algorithm="qmix", **worker.small["qmix"])
    slower = {**again.metrics, "steps_per_second": first.metrics["steps_per_second"]}
    assert slower == first.metrics


def test_a_training_is_resumed_from_a_checkpoint(worker: Any) -> None:
    first = worker.trained("dqn")
    longer = {"env_id": "CartPole-v1", "total_timesteps": 5000, "learning_rate": 7e-4}  # rest as saved
    on = worker.resume(first.checkpoints[-1], algorithm="dqn", **longer, stop_at=900)
    assert on.events("run_started")[0]["config"]["hyperparameters"]["parallels"] == 5
    assert on.episodes
    assert "Qloss" in on.metrics
    assert on.metrics["epsilon-greedy"] < first.metrics["epsilon-greedy"]
    assert on.checkpoints[-1].name == "step-900.pt"
    assert learning_rates(on.checkpoints[-1]) == pytest.approx([7e-4])


def test_a_training_with_less_than_an_update_left_ends_where_it_is_to(
    worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a sweep's trial that was killed shortly before its end. Unused modules are not imported."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    saved = worker.trained("mappo").checkpoints[-1]
    small = {**worker.small["mappo"], "total_timesteps": 5000}
    on = worker.resume(saved, algorithm="mappo", **small, stop_at=804)
    assert on.checkpoints[-1].name == "step-804.pt"
    assert [name for name in ("xuance", "scipy.signal", "wandb") if f" {name}\n" in on.log] == ["xuance"]


def test_a_run_is_watched_and_stopped(worker: Any, tmp_path: Path) -> None:
    """The policy at the time of the stop is saved."""
    lab = mosaic.Lab(tmp_path)
    run = lab.train(
        "xuance", algorithm="mappo", env="simple_spread_v3", total_timesteps=50_000_000, frames={"grid": 2}
    )
    picture = tmp_path / "now.png"
    run.snapshot(str(picture), timeout=300)
    assert picture.read_bytes().startswith(b"\x89PNG")
    run.stop()
    run.wait(60)
    assert run.state == "cancelled"
    saved = run.checkpoints[-1]
    assert saved.path.name == f"step-{saved.step}.pt"


@pytest.mark.parametrize(
    ("algorithm", "breaking"),
    [pytest.param("dqn", {}, marks=pytest.mark.extended), ("mappo", unruly_team("Breaks"))],
)
def test_served_environments_are_trained_in_alike(
    worker: Any, algorithm: str, breaking: dict[str, Any]
) -> None:
    assert_served_alike(worker, algorithm, **breaking)


@pytest.mark.extended
def test_every_algorithm_trains_acts_and_resumes(worker: Any) -> None:
    """On every kind of action space, and with recurrent networks where upstream has them."""
    table = subprocess.run(
        [worker.python, str(MATRIX)], capture_output=True, text=True, timeout=900, check=False
    )
    assert table.returncode == 0, table.stdout + table.stderr
