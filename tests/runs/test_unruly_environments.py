"""Environments that disturb the training's process: every run ends in the right state, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import wait_until

import mosaic_lab as mosaic
from mosaic_lab.runs import Run

PEERS = Path(__file__).parents[1] / "peers"
STEPS = 600
SMALL: dict[str, dict[str, Any]] = {
    "cleanrl": {"num_envs": 1, "num_steps": 100},
    "sb3": {"n_steps": 100, "batch_size": 50},
    "tianshou": {"num_training_envs": 1, "collection_step_num_env_steps": 100, "batch_size": 50},
    "xuance": {"parallels": 1, "horizon_size": 100},
    "rllib": {"num_env_runners": 0, "train_batch_size_per_learner": 200, "minibatch_size": 50},
}
LIBRARIES = [name if name == "cleanrl" else pytest.param(name, marks=pytest.mark.extended) for name in SMALL]


@pytest.fixture
def lab(mosaic_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[mosaic.Lab]:
    monkeypatch.setenv("PYTHONPATH", str(PEERS))
    lab = mosaic.Lab(tmp_path)
    yield lab
    lab.stop_all()


def train(lab: mosaic.Lab, library: str, environment: str, steps: int = STEPS, **more: Any) -> Run:
    given = {**SMALL[library], **more, "pass_env_vars": ["PYTHONPATH"]}
    return lab.train(
        library, algorithm="ppo", env=f"unruly:{environment}-v0", seed=1, total_timesteps=steps, **given
    )


def ended(run: Run) -> Run:
    wait_until(lambda: run.finished, timeout=300)
    return run


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("environment", ["Exits", pytest.param("Leaves", marks=pytest.mark.extended)])
def test_an_environment_that_ends_the_process_fails_the_run(
    lab: mosaic.Lab, library: str, environment: str
) -> None:
    run = ended(train(lab, library, environment))
    assert run.state == "failed", run.reason
    step = 0 if library == "rllib" else 10  # RLlib counts steps per iteration
    assert f"the environment ended the process (exit code 0) at step {step} of {STEPS}: line " in run.reason
    assert "of unruly.py, in step" in run.reason


@pytest.mark.extended
@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ("Breaks", "RuntimeError: the simulator is gone"),
        ("Exits", f"the environment ended the process (exit code 0) at step 0 of {STEPS}: line "),
        ("Leaves", f"the environment ended the process (exit code 0) at step 0 of {STEPS}: line "),
    ],
)
def test_rllib_ends_once_none_of_its_runners_samples(lab: mosaic.Lab, environment: str, reason: str) -> None:
    settings = {"num_env_runners": 2, "delay_between_env_runner_restarts_s": 600}
    run = ended(train(lab, "rllib", environment, **settings))
    assert run.state == "failed" and reason in run.reason, run.reason


@pytest.mark.extended
def test_rllib_stops_by_itself_while_a_runner_hangs(lab: mosaic.Lab) -> None:
    run = train(lab, "rllib", "Hangs", num_env_runners=1)
    log = run.path / "worker.log"
    wait_until(lambda: log.exists() and "the simulator hangs" in log.read_text(), timeout=300)
    run.stop()
    assert run.outcome is not None
    assert (run.state, run.outcome.signal) == ("cancelled", None), run.reason


@pytest.mark.extended
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_thread_that_an_environment_leaves_behind_holds_up_nothing(lab: mosaic.Lab, library: str) -> None:
    run = ended(train(lab, library, "KeepsThread"))
    assert run.state == "completed", run.reason
    reported = "the process ends without its threads that still run: the simulator's"
    assert library == "rllib" or reported in (run.path / "worker.log").read_text()  # its shim exits at once


@pytest.mark.extended
@pytest.mark.parametrize("library", LIBRARIES)
def test_an_environment_whose_close_raises_is_trained(lab: mosaic.Lab, library: str) -> None:
    run = ended(train(lab, library, "CannotClose"))
    assert run.state == "completed", run.reason
    text = (run.path / "worker.log").read_text()
    assert "close() of unruly:CannotClose-v0 has failed: AttributeError: there is no screen" in text


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_environment_that_ignores_sigterm_is_stopped_with_its_checkpoint(
    lab: mosaic.Lab, library: str
) -> None:
    run = train(lab, library, "DeafToSigterm", steps=10_000_000)
    wait_until(lambda: (run.step or 0) > STEPS, timeout=300)
    run.stop()
    assert run.state == "cancelled" and "its last checkpoint is at step" in run.reason, run.reason
    assert "SIGTERM is kept for stopping the run" in (run.path / "worker.log").read_text()
