"""Offline training on another training's recording: datasets, reports, refusals."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mosaic_contract.conformance.observed_process import ObservedProcess
from mosaic_contract.fastlane import Frame, FrameReader

READS = Path(__file__).with_name("reads_dataset.py")
READS_MINARI = READS.with_name("reads_minari.py")
LOSSES = {
    "il": {"policy_loss", "update/loss"},
    "bcq": {"policy_loss", "update/vae_loss", "update/actor_loss", "update/critic1_loss"},
    "cql": {"update/actor_loss", "update/critic1_loss", "update/cql_alpha", "update/alpha_loss"},
    "discrete_cql": {"update/loss", "update/qr_loss", "update/cql_loss"},
    "gail": {"update/disc_loss/mean", "update/acc_exp/mean", "update/actor_loss/mean"},
}


@pytest.mark.parametrize(
    "algorithm", [n if n == "bcq" else pytest.param(n, marks=pytest.mark.extended) for n in LOSSES]
)
def test_a_training_from_a_dataset_reports_everything_and_saves(worker: Any, algorithm: str) -> None:
    run = worker.trained(algorithm)
    assert run.code == 0, run.log
    steps = worker.offline[algorithm]["total_timesteps"]
    (done,) = run.events("run_completed")
    assert done["final_metrics"]["steps"] == steps
    values = set() if algorithm == "il" else {"value_loss"}
    assert LOSSES[algorithm] | values | {"episode_return", "episode_length"} <= set(run.metrics)
    assert run.checkpoints[-1].name == f"step-{steps}.pt"
    described = json.loads(run.checkpoints[-1].with_suffix(".json").read_text())
    assert described["hyperparameters"]["dataset"] == worker.configuration(algorithm)["dataset"]


def test_gradient_steps_are_counted_and_the_policy_is_evaluated_between_them(worker: Any) -> None:
    """Evaluations come before the first step and after each epoch of 130 steps."""
    run = worker.trained("bcq")
    assert [step for step, _ in run.returns] == [0, 0, 130, 130, 260, 260]
    assert {episode["steps"] for episode in run.episodes} == {200}


def test_a_dataset_is_upstreams_own_file_and_only_its_numbers_are_read(worker: Any, tmp_path: Path) -> None:
    described = json.loads(worker.dataset.with_suffix(".json").read_text())
    assert (described["algorithm"], described["env_id"]) == ("sac", "Pendulum-v1")
    assert described["transitions"] == 600
    command = [worker.python, str(READS), str(worker.dataset), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["same"]
    assert (seen["ends"], seen["next"]) == (4, 1)  # the last transition of each of the four environments
    assert seen["bomb"] == "read"
    assert not (tmp_path / "executed").exists()
    assert "cannot be read as a replay buffer of Tianshou" in seen["cut"]
    assert "cannot be read as a replay buffer of Tianshou" in seen["none"]
    assert seen["once"]
    assert "transitions do not fit into rows" in seen["long"]
    assert f"its _lengths takes {8 * 2**40} bytes of at most {2**19}" in seen["many"]
    assert "its rew are not all finite numbers" in seen["text"]
    assert "its act reach from 2 to 2; they must be as Tianshou's policies answer" in seen["wide"]
    assert "its obs have the shape (4,), the environment's (3,)" in seen["other"]


def test_episodes_of_minari_are_read_as_transitions(worker: Any, tmp_path: Path) -> None:
    """Two episodes of 3 and 2 steps: the unterminated one is read as truncated; actions are rescaled."""
    command = [worker.python, str(READS_MINARI), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    plain = seen["plain"]
    assert [row[0] for row in plain["obs"]] == [0, 1, 2, 0, 1]
    assert [row[0] for row in plain["obs_next"]] == [1, 2, 3, 1, 2]
    assert plain["act"] == [[-0.5]] * 5
    assert plain["rew"] == [0, 1, 2, 0, 1]
    assert plain["terminated"] == [False, False, False, False, True]
    assert plain["truncated"] == [False, False, True, False, False]
    assert seen["file"]
    assert seen["kitchen"]["obs"][1] == [1, 1, 0, 1, 0]
    assert seen["kitchen"]["act"] == [1] * 5  # numbered from 0
    assert "its observations are not one array; wrappers=['flat']" in seen["unwrapped"]
    assert "it was recorded on 'Pendulum-v1', this run is on 'Kitchen-v0'" in seen["other"]
    assert "wrappers=['frame_stack(2)']: recorded observations pass only through" in seen["stacked"]
    assert "its pictures are JPEG files" in seen["jpeg"]
    assert "its data_format is 'arrow', not 'hdf5'" in seen["arrow"]
    assert "the arrays of /episode_0 differ in length" in seen["swapped"]
    assert "cannot be read as a Minari dataset" in seen["cut"]


def test_what_cannot_be_learned_from_is_refused(worker: Any) -> None:
    error = worker.error(algorithm="cql", env_id="Pendulum-v1")
    assert "cql learns from a recorded dataset: give dataset" in error
    elsewhere = worker.error(algorithm="discrete_cql", env_id="CartPole-v1", dataset=str(worker.dataset))
    assert "it was recorded on 'Pendulum-v1', this run is on 'CartPole-v1'" in elsewhere
    assert "its obs have the shape (3,), the environment's (4,)" in elsewhere


@pytest.mark.extended
def test_a_training_from_a_dataset_goes_on_from_a_checkpoint(worker: Any) -> None:
    """The resumed training uses the original dataset unless another is given."""
    first = worker.trained("cql")
    longer = {**worker.offline["cql"], "total_timesteps": 390}
    on = worker.train(algorithm="cql", **longer, checkpoint={"resume_from": str(first.checkpoints[-1])})
    assert on.code == 0, on.log
    assert on.events("checkpoint_loaded")[0]["step"] == 260
    assert on.checkpoints[-1].name == "step-390.pt"
    assert [step for step, _ in on.returns] == [260, 260, 390, 390]


def test_evaluations_are_shown_and_a_stop_saves(worker: Any) -> None:
    frames: list[Frame] = []

    def watch_and_stop(trial: ObservedProcess) -> None:
        reader = FrameReader(trial.stdout_path.parent)

        def look() -> bool:
            reader.watch(60)
            frames.extend(filter(None, [reader.read()]))
            return bool(frames) and any(m.get("event") == "checkpoint_saved" for m in trial.messages())

        assert trial.wait(120, until=look)
        reader.close()
        trial.signal(signal.SIGTERM)

    forever = {**worker.offline["bcq"], "total_timesteps": 10_000_000, "checkpoint": {"every_timesteps": 10}}
    run = worker.train(watch_and_stop, algorithm="bcq", dataset=str(worker.dataset), **forever)
    assert run.code == 143, run.log
    assert (
        run.events("run_cancelled")[0]["partial_results"]["steps"]
        == run.events("checkpoint_saved")[-1]["step"]
    )
    assert run.leftovers == []
