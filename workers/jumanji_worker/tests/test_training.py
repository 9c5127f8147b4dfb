"""Trainings: reports, equality with upstream alone, resuming from checkpoints, stopping."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mosaic_contract.conformance.observed_process import ObservedProcess
from shim_kit.policies import begin
from shim_kit.training_worker import Viewer

UPSTREAM = Path(__file__).with_name("upstream_trains.py")
COMMON = {"value_loss", "episode_return", "episode_length", "steps_per_second"}
LOSSES = {
    "a2c": {"total_loss", "policy_loss", "critic_loss", "entropy"},
    "ppo": {"policy_loss", "train/pg_loss", "train/value_loss", "train/entropy_loss", "rollout/ep_rew_mean"},
}
TRAINED = ["ppo", pytest.param("a2c", marks=pytest.mark.extended)]


@pytest.mark.parametrize("algorithm", TRAINED)
def test_a_training_reports_everything_and_saves(worker: Any, algorithm: str) -> None:
    run = worker.trained(algorithm)
    assert run.code == 0, run.log
    (done,) = run.events("run_completed")
    assert LOSSES[algorithm] | COMMON - {"steps_per_second"} <= set(done["final_metrics"])
    assert done["final_metrics"]["steps"] == 800
    assert done["episodes"] == len(run.episodes) == 40  # tours of 20 cities
    assert {(episode["steps"], episode["terminated"]) for episode in run.episodes} == {(20, True)}
    assert run.checkpoints[-1].name == "step-800.npz" and len(run.checkpoints) > 1
    described = json.loads(run.checkpoints[-1].with_suffix(".json").read_text())
    assert (described["algorithm"], described["format"]) == (algorithm, "mosaic-jumanji/1")
    with np.load(run.checkpoints[-1], allow_pickle=False) as file:
        assert all(np.isfinite(file[name]).all() for name in file)


@pytest.mark.extended
@pytest.mark.parametrize("algorithm", ["a2c", "ppo"])
def test_keywords_of_the_environment_are_those_of_its_policy(
    worker: Any, operators: Any, algorithm: str
) -> None:
    small = {**worker.small[algorithm], "env_id": "Snake-v1", "env_kwargs": {"num_rows": 4, "num_cols": 5}}
    networks = {"num_channels": 4, "policy_layers": [8], "value_layers": [8]} if algorithm == "a2c" else {}
    run = worker.train(
        algorithm=algorithm,
        **{name: value for name, value in small.items() if "transformer" not in name},
        **networks,
    )
    assert run.code == 0, run.log
    described = json.loads(run.checkpoints[-1].with_suffix(".json").read_text())
    assert described["env_settings"] == small["env_kwargs"]
    assert described["observation_space"]["spaces"]["grid"]["shape"] == [4, 5, 5]
    begin(operators, run.checkpoints[-1])


@pytest.mark.extended
def test_an_episode_of_a2c_takes_its_share_of_the_update_it_ends_in(worker: Any) -> None:
    """In each update, of 40 steps in four environments, every environment plays two episodes of 20 steps."""
    run = worker.trained("a2c")
    seconds = [episode["duration_seconds"] for episode in run.episodes]
    updates = [set(seconds[first : first + 8]) for first in range(0, 40, 8)]
    assert [len(each) for each in updates] == [1] * 5
    (done,) = run.events("run_completed")
    assert 0 < 2 * sum(map(sum, updates)) < done["duration_seconds"]


def test_every_update_of_ppo_is_reported_when_it_is_done(worker: Any) -> None:
    run = worker.trained("ppo")
    assert dict(run.series("train/n_updates")) == {200: 1, 400: 2, 600: 3, 800: 4}
    assert [step for step, _ in run.series("train/pg_loss")] == [200, 400, 600, 800]


@pytest.mark.parametrize("algorithm", TRAINED)
def test_the_log_says_that_a_training_compiles_and_how_long_it_took(worker: Any, algorithm: str) -> None:
    log = worker.trained(algorithm).log
    assert log.count("compiling the first update") == 1
    took, compiled = re.findall(r"update is done after ([\d.]+) s, ([\d.]+) s of which XLA compiled", log)[0]
    assert 0 < float(compiled) < float(took)


@pytest.mark.extended
def test_a2c_learns_what_upstream_alone_does(worker: Any) -> None:
    small = worker.small["a2c"]
    sections = {name: "network" for name in small if name.startswith("transformer")}
    sections |= {"n_steps": "training", "total_batch_size": "training"}
    overrides = [f"env.{section}.{name}={small[name]}" for name, section in sections.items()]
    each = "env.training.num_learner_steps_per_epoch=1"
    bare = worker.output_of(str(UPSTREAM), "a2c", "tsp", "800", "seed=1", each, *overrides)
    ours = worker.trained("a2c").events("run_completed")[0]["final_metrics"]
    for name in ("total_loss", "policy_loss", "critic_loss", "entropy"):
        assert ours[name] == pytest.approx(bare["metrics"][name], rel=1e-4), name


@pytest.mark.extended
def test_a_training_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(worker: Any) -> None:
    """The resumed training is watched, which changes nothing."""
    whole = worker.trained("a2c")
    half = whole.checkpoints[len(whole.checkpoints) // 2 - 1]
    viewer = Viewer()

    on = worker.resume(half, viewer, algorithm="a2c", **worker.small["a2c"], fastlane={"grid": 2})
    at = int(half.stem.partition("-")[2])
    assert on.returns == [(step, total) for step, total in whole.returns if step > at] != []
    assert dict(on.series("total_loss"))[800] == dict(whole.series("total_loss"))[800]
    assert viewer.sizes == {(400, 804)}


@pytest.mark.extended
def test_a_stop_does_not_wait_for_the_compiler(worker: Any) -> None:
    """Networks of upstream's size take a minute to compile."""

    def stop(trial: ObservedProcess) -> None:
        def beats() -> int:
            return sum(m.get("event") == "heartbeat" for m in trial.messages())

        assert trial.wait(300, until=lambda: "compiling the first update" in trial.log_tail())
        begun = beats()
        assert trial.wait(300, until=lambda: beats() > begun + 1)
        trial.signal(signal.SIGTERM)
        assert trial.wait(30)

    run = worker.train(stop, algorithm="a2c", env_id="BinPack-v2", total_timesteps=100_000)
    assert run.code == 143, run.log
    assert "update is done" not in run.log
    assert (len(run.events("run_cancelled")), run.checkpoints, run.leftovers) == (1, [], [])
