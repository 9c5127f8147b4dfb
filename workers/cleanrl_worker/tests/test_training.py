"""Every algorithm trains with upstream's unmodified script and reports correct metrics and episodes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from shim_kit.training_worker import assert_served_alike

COMPILER = """
import json, sys
from mosaic_contract.pytorch import defer_compiler
defer_compiler()
import torch

layer = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(layer.parameters())

def step(x):
    loss = layer(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss

first = step(torch.ones(1, 2))
imported = "torch._dynamo.config" in sys.modules
second = torch.compile(step, backend="eager")(torch.ones(1, 2))
print(json.dumps([imported, float(second) < float(first), "torch._dynamo.config" in sys.modules]))
"""
"""Prints whether an eager step imports the compiler, and whether a compiled step learns and imports it."""

UPSTREAM_RETURN = ("charts/episodic_return", "charts/episode_reward")
RUN_FOLDER = {
    "config.json", "stdout.jsonl", "stderr.log", "analytics.json", "tensorboard", "checkpoints",
}  # fmt: skip


def test_the_training_completes_at_its_last_step(finished: Any) -> None:
    assert finished.code == 0, finished.log
    assert "WARN: env." not in finished.log, "Gymnasium must not warn about our checks"
    (started,) = finished.events("run_started")
    assert finished.messages[-1]["event"] == "run_completed"
    steps = max(metrics["step"] for metrics in finished.events("metrics"))
    assert steps == started["config"]["steps"] == started["config"]["total_timesteps"]


def test_upstreams_scalars_become_metrics_with_their_tags(finished: Any) -> None:
    names = {name for metrics in finished.events("metrics") for name in metrics["values"]}
    assert names & set(UPSTREAM_RETURN)
    assert any(name.startswith("losses/") for name in names)
    assert {"episode_return", "episode_length", "steps_per_second", "value_loss"} <= names


def test_every_episode_that_the_script_reports_has_its_line(finished: Any) -> None:
    reported = [point for name in UPSTREAM_RETURN for point in finished.series(name)]
    ours = {(e["step"], round(e["total_reward"], 2)) for e in finished.episodes}
    assert reported
    assert {(step, round(value, 2)) for step, value in reported} <= ours  # upstream logs float32


def test_lengths_and_returns_of_episodes_are_correct(finished: Any) -> None:
    (started,) = finished.events("run_started")
    for episode in finished.episodes:
        if started["env_id"] == "CartPole-v1":  # reward 1 per step
            assert episode["total_reward"] == episode["steps"]
            assert episode["terminated"] or episode["steps"] == 500
        else:  # Pendulum ends only at its time limit
            assert (episode["steps"], episode["truncated"], episode["terminated"]) == (200, True, False)
    assert [e["episode_index"] for e in finished.episodes] == list(range(len(finished.episodes)))
    for name, key in (("episode_return", "total_reward"), ("episode_length", "steps")):
        assert finished.series(name) == [(e["step"], e[key]) for e in finished.episodes]


def test_lengths_are_those_that_the_script_reports(worker: Any) -> None:
    algorithm, tag = ("sac", "episode_length") if worker.legacy else ("ppo", "episodic_length")
    run = worker.trained(algorithm)
    assert run.series(f"charts/{tag}") == [(e["step"], e["steps"]) for e in run.episodes]


def test_nothing_is_written_outside_the_run_folder(finished: Any) -> None:
    assert finished.outside == []
    assert {path.name for path in finished.folder.iterdir()} == RUN_FOLDER
    assert list(finished.folder.glob("tensorboard/*/events.out.tfevents.*"))
    assert not list(finished.folder.rglob("*.partial"))


def test_the_run_says_which_upstream_it_used(finished: Any) -> None:
    (started,) = finished.events("run_started")
    upstream = started["config"]["upstream"]
    assert upstream["source"] in ("registry", "git", "path")
    assert upstream["version"]
    assert len(upstream["script_sha256"]) == 64
    analytics = json.loads((finished.folder / "analytics.json").read_text())
    assert analytics["metadata"]["upstream"] == upstream


def test_the_manifest_names_what_is_there(finished: Any) -> None:
    artifacts = json.loads((finished.folder / "analytics.json").read_text())["artifacts"]
    assert (finished.folder / artifacts["tensorboard"]["log_dir"]).is_dir()
    checkpoints = artifacts["checkpoints"]
    assert all((finished.folder / file).is_file() for file in checkpoints["files"])
    assert checkpoints["final_checkpoint"] == checkpoints["files"][-1]
    assert artifacts["wandb"]["enabled"] is False


@pytest.mark.extended
def test_pytorchs_compiler_is_imported_when_it_is_used(worker: Any) -> None:
    assert worker.output_of("-c", COMPILER) == [False, True, True]


def test_the_platforms_own_example_runs_and_leaves_videos(
    worker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Box2D's LunarLander is mentioned in neither script. Plotting modules are not imported."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    example = {"algorithm": "ppo", "learning_rate": 3e-4, "num_envs": 4, "capture_video": True}
    run = worker.train(**example, env_id="LunarLander-v2", seed=1, total_timesteps=1024)
    assert run.code == 0, run.log
    assert run.episodes
    assert [name for name in ("gym", "pandas", "matplotlib") if f" {name}\n" in run.log] == ["gym"]
    videos = sorted((run.folder / "videos").iterdir())
    assert [video.name for video in videos][:3] == [f"episode-{i:06d}.mp4" for i in (0, 1, 8)][: len(videos)]
    assert videos
    assert all(b"ftyp" in video.read_bytes()[:32] for video in videos)  # the header of an MP4 file
    assert run.outside == []
    analytics = json.loads((run.folder / "analytics.json").read_text())
    assert analytics["artifacts"]["videos_dir"] == "videos"


def test_the_release_takes_discrete_observations_and_its_own_environments(worker: Any) -> None:
    if not worker.legacy:
        assert "needs vectors" in worker.error(algorithm="dqn", env_id="FrozenLake-v1")
        return
    frozen_lake = worker.trained("frozen_lake")
    assert frozen_lake.code == 0, frozen_lake.log
    assert frozen_lake.episodes
    bullet = worker.train(algorithm="sac", env_id="InvertedPendulumBulletEnv-v0", total_timesteps=150)
    assert bullet.code == 0, bullet.log
    assert bullet.episodes


def test_a_gpu_that_pytorch_does_not_find_is_refused(worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream's scripts would silently train on the CPU."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "63")
    run = worker.train(algorithm="ppo", **worker.small["ppo"])
    assert run.code == 2 and not run.checkpoints
    (failed,) = run.events("run_failed")
    assert re.match("PyTorch .* finds none of this run's GPUs .* or choose gpus=0", failed["error"])


def test_served_environments_are_trained_in_alike(worker: Any) -> None:
    assert_served_alike(worker, "ppo")
