"""One small training per algorithm: reports, checkpoints, resuming and stopping."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import numpy as np
import pytest
from shim_kit.policies import actions_of, begin
from shim_kit.training_worker import Viewer, assert_stopped_cleanly, stop_after_an_episode

LOSSES = {
    "ppo": {"policy_loss", "train/policy_gradient_loss", "train/approx_kl", "train/clip_fraction"},
    "a2c": {"policy_loss", "train/policy_loss", "train/std"},
    "dqn": {"train/loss", "rollout/exploration_rate"},
    "sac": {"policy_loss", "train/actor_loss", "train/ent_coef_loss"},
    "td3": {"policy_loss", "train/actor_loss"},
    "ddpg": {"policy_loss", "train/actor_loss"},
    "recurrent_ppo": {"policy_loss", "train/entropy_loss"},
    "maskable_ppo": {"policy_loss", "train/entropy_loss"},
    "trpo": {"train/policy_objective", "train/kl_divergence_loss"},
    "tqc": {"policy_loss", "train/actor_loss"},
    "qrdqn": {"train/loss"},
    "ars": {"rollout/return_std", "train/step_size"},
}
COMMON = {"episode_return", "episode_length"}
UPSTREAMS = {"time/fps", "rollout/ep_rew_mean"}
SHORT = ("ppo",)
LEARNING_RATE = """
import json, sys
from stable_baselines3.common.save_util import load_from_zip_file
_, states, _ = load_from_zip_file(sys.argv[1], load_data=False)
print(json.dumps(states["actor.optimizer"]["param_groups"][0]["lr"]))
"""


@pytest.mark.parametrize(
    "algorithm", [pytest.param(one, marks=() if one in SHORT else pytest.mark.extended) for one in LOSSES]
)
def test_a_training_reports_everything_and_its_policy_acts(
    worker: Any, operators: Any, algorithm: str
) -> None:
    run = worker.trained(algorithm)
    assert run.code == 0, run.log
    expected = LOSSES[algorithm] | COMMON
    expected |= {"value_loss"} if algorithm != "ars" else set()
    expected |= UPSTREAMS if algorithm != "a2c" else set()  # A2C logs after 100 updates
    assert expected <= set(run.metrics)
    (done,) = run.events("run_completed")
    steps = int(done["final_metrics"]["steps"])
    assert steps >= worker.small[algorithm]["total_timesteps"]
    assert done["episodes"] == len(run.episodes) > 0
    assert run.checkpoints[-1].name == f"step-{steps}.zip"
    with zipfile.ZipFile(run.checkpoints[-1]) as saved:
        assert json.loads(saved.read("data"))["num_timesteps"] == steps, "upstream's own count"
    assert len(run.checkpoints) > 1
    described = json.loads(run.checkpoints[-1].with_suffix(".json").read_text())
    assert (described["algorithm"], described["format"]) == (algorithm, "mosaic-sb3/1")
    assert list((run.checkpoints[-1].parents[1] / "tensorboard").glob("events*"))
    begin(operators, run.checkpoints[-1])
    size = described["observation_space"]["shape"]
    assert len(actions_of(operators, [np.zeros(size, np.float32)] * 3)) == 3


@pytest.mark.extended
@pytest.mark.parametrize(
    ("env_id", "policy"),
    [
        ("odd_observations:Pictures-v0", "CnnPolicy"),
        ("odd_observations:Parts-v0", "MultiInputPolicy"),
        ("FrozenLake-v1", "MlpPolicy"),
    ],
)
def test_the_policy_is_chosen_by_the_observations(
    worker: Any, operators: Any, env_id: str, policy: str
) -> None:
    for algorithm in ("ppo", "dqn"):
        values = {**worker.small[algorithm], "env_id": env_id, "total_timesteps": 200, "net_arch": None}
        run = worker.train(
            algorithm=algorithm, **{**values, "learning_starts": 50} if algorithm == "dqn" else values
        )
        assert run.code == 0, run.log
        begin(operators, run.checkpoints[-1])
        seen: Any = {"picture": np.zeros((40, 44, 3), np.uint8), "place": np.zeros(2, np.float32), "door": 1}
        seen = {"CnnPolicy": seen["picture"], "MlpPolicy": 3}.get(policy, seen)
        assert actions_of(operators, [seen])[0] in range(4)


@pytest.mark.extended
def test_actions_that_are_not_allowed_are_never_tried(worker: Any) -> None:
    """The environments give masks by `action_masks()` or in the info."""
    assert min(total for _, total in worker.trained("maskable_ppo").returns) > -10
    taxi = worker.train(
        algorithm="maskable_ppo", env_id="Taxi-v4", total_timesteps=400, n_steps=200, batch_size=50
    )
    assert taxi.code == 0, taxi.log


@pytest.mark.extended
def test_the_same_seed_gives_the_same_returns_watched_or_not(worker: Any) -> None:
    viewer = Viewer()
    first = worker.trained("sac")
    again = worker.train(viewer, algorithm="sac", **worker.small["sac"], fastlane={"grid": 2})
    assert again.returns == first.returns != []
    assert viewer.sizes == {(500, 1004)}


@pytest.mark.extended
def test_a_training_goes_on_from_a_checkpoint_with_its_replay_buffer(worker: Any) -> None:
    first = worker.trained("sac")
    longer = {**worker.small["sac"], "total_timesteps": 5000, "learning_rate": 2e-3}
    del longer["batch_size"]  # the checkpoint has it
    on = worker.resume(first.checkpoints[-1], algorithm="sac", **longer, stop_at=1680)
    assert on.returns
    assert on.events("run_started")[0]["config"]["hyperparameters"]["batch_size"] == 16
    assert on.checkpoints[-1].name == "step-1680.zip"
    rates = [worker.output_of("-c", LEARNING_RATE, str(run.checkpoints[-1])) for run in (first, on)]
    assert rates == [3e-4, 2e-3]
    assert "the replay buffer is not restored" not in on.log
    saved = np.load(on.checkpoints[-1].parents[1] / "replay_buffer.npz")
    assert saved["observations"].shape == (500, 2, 3), "transitions of both runs"


@pytest.mark.extended
def test_a_resume_without_a_replay_buffer_fills_one(worker: Any) -> None:
    values = {**worker.small["dqn"], "save_replay_buffer": False}
    first = worker.train(algorithm="dqn", **values)
    longer = {**values, "total_timesteps": 800}
    on = worker.resume(first.checkpoints[-1], algorithm="dqn", **longer)
    assert "the replay buffer is not restored, and 100 random steps come first" in on.log
    assert on.metrics["train/n_updates"] > first.metrics["train/n_updates"]


@pytest.mark.extended
@pytest.mark.parametrize("algorithm", ["ppo", "ars", "recurrent_ppo", "qrdqn"])
def test_every_kind_of_algorithm_is_resumed(worker: Any, algorithm: str) -> None:
    first = worker.trained(algorithm)
    step = int(first.events("run_completed")[0]["final_metrics"]["steps"])
    longer = {**worker.small[algorithm], "total_timesteps": step + 400}
    on = worker.resume(first.checkpoints[-1], algorithm=algorithm, **longer)
    assert on.returns
    assert on.events("run_completed")[0]["final_metrics"]["steps"] >= step + 400


@pytest.mark.extended
@pytest.mark.parametrize("algorithm", ["dqn", "ars"])
def test_a_stopped_training_saves_a_checkpoint_and_ends(worker: Any, algorithm: str) -> None:
    run = worker.train(
        stop_after_an_episode,
        algorithm=algorithm,
        env_id="CartPole-v1",
        total_timesteps=10_000_000,
        net_arch=None,
    )
    assert_stopped_cleanly(run)
