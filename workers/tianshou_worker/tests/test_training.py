"""One small training per family of algorithms: reports, checkpoints, resuming and stopping."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
from shim_kit.optimizers import learning_rates
from shim_kit.training_worker import Viewer, assert_stopped_cleanly, stop_after_an_episode

LOSSES = {
    "dqn": {"update/loss"},
    "c51": {"update/loss"},
    "ppo": {"policy_loss", "update/loss/mean", "update/actor_loss/mean", "update/vf_loss/mean"},
    "trpo": {"policy_loss", "update/actor_loss/mean", "update/kl/mean", "update/step_size/mean"},
    "sac": {"policy_loss", "update/actor_loss", "update/critic1_loss", "update/critic2_loss", "update/alpha"},
}
COMMON = {"value_loss", "episode_return", "episode_length"}
EXTENDED = ("c51", "trpo")
LOADS = "import sys, torch; [torch.load(path, weights_only=True) for path in sys.argv[1:]]"
"""Loads checkpoints as shims do, without executing code in them."""


@pytest.mark.parametrize(
    "algorithm",
    [pytest.param(name, marks=pytest.mark.extended if name in EXTENDED else ()) for name in LOSSES],
)
def test_a_training_reports_everything_and_saves(worker: Any, algorithm: str) -> None:
    run = worker.trained(algorithm)
    assert run.code == 0, run.log
    steps = worker.small[algorithm]["total_timesteps"]
    assert LOSSES[algorithm] | COMMON <= set(run.metrics)
    (done,) = run.events("run_completed")
    assert done["final_metrics"]["steps"] == steps
    assert done["episodes"] == len(run.episodes) > 0
    assert all(episode["terminated"] or episode["truncated"] for episode in run.episodes)
    assert sum(episode["steps"] for episode in run.episodes) <= steps
    assert run.checkpoints[-1].name == f"step-{steps}.pt"
    assert len(run.checkpoints) > 1
    described = json.loads(run.checkpoints[-1].with_suffix(".json").read_text())
    assert (described["algorithm"], described["format"]) == (algorithm, "mosaic-tianshou/1")
    assert list((run.checkpoints[-1].parents[1] / "tensorboard").glob("events*"))


def test_checkpoints_have_weights_only(worker: Any) -> None:
    saved = [str(worker.trained(name).checkpoints[-1]) for name in LOSSES if name not in EXTENDED]
    subprocess.run([worker.python, "-c", LOADS, *saved], check=True)


@pytest.mark.extended
def test_the_same_seed_gives_the_same_returns_watched_or_not(worker: Any) -> None:
    viewer = Viewer()

    first = worker.trained("sac")
    again = worker.train(viewer, algorithm="sac", **worker.small["sac"], fastlane={"grid": 2})
    assert again.returns == first.returns != []
    assert viewer.sizes == {(500, 1004)}


@pytest.mark.parametrize(
    ("device", "visible", "advice"),
    [
        (
            "cuda",
            "",
            r"device='cuda', and no GPU is visible to this run: give it one \(lab.train\(..., gpus=1\)\)",
        ),
        pytest.param(
            *("auto", "63", "PyTorch .* finds none of this run's GPUs .* or choose gpus=0"),
            marks=pytest.mark.extended,  # CleanRL's tests cover it
        ),
    ],
)
def test_a_gpu_that_pytorch_does_not_find_is_refused(
    worker: Any, monkeypatch: pytest.MonkeyPatch, device: str, visible: str, advice: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    run = worker.train(algorithm="ppo", **worker.small["ppo"], device=device)
    assert run.code == 2 and not run.checkpoints
    (failed,) = run.events("run_failed")
    assert re.match(advice, failed["error"])


def test_a_training_is_resumed_from_a_checkpoint(worker: Any) -> None:
    first = worker.trained("sac")
    longer = {**worker.small["sac"], "total_timesteps": 5000, "actor_lr": 2e-3}
    del longer["batch_size"]  # the checkpoint has it
    on = worker.resume(first.checkpoints[-1], algorithm="sac", **longer, stop_at=1680)
    assert on.events("run_started")[0]["config"]["hyperparameters"]["batch_size"] == 16
    assert on.returns
    assert on.checkpoints[-1].name == "step-1680.pt"
    assert [learning_rates(run.checkpoints[-1])[0] for run in (first, on)] == [1e-3, 2e-3]


def test_a_training_with_less_than_an_update_left_makes_one_more(
    worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a sweep's trial that was killed shortly before its end. Unused modules are not imported."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    saved = worker.trained("sac").checkpoints[-1]
    longer = {**worker.small["sac"], "total_timesteps": 5000}
    on = worker.resume(saved, algorithm="sac", **longer, stop_at=841)
    assert int(on.checkpoints[-1].stem.removeprefix("step-")) > 840
    assert [name for name in ("tianshou", "pandas", "matplotlib") if f" {name}\n" in on.log] == ["tianshou"]


@pytest.mark.extended
def test_a_stopped_training_saves_a_checkpoint_and_ends(worker: Any) -> None:
    run = worker.train(
        stop_after_an_episode, algorithm="dqn", env_id="CartPole-v1", total_timesteps=10_000_000
    )
    assert_stopped_cleanly(run)
