"""Trainings in environments that another process serves; here the worker serves its own."""

from __future__ import annotations

import re
from typing import Any

import psutil
import pytest
from mosaic_contract.conformance.observed_process import ObservedProcess
from shim_kit.training_worker import Viewer, assert_stopped_cleanly, stop_after_an_episode
from support import PEERS


@pytest.fixture(autouse=True)
def unruly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PEERS))


def served(worker: Any, **config: Any) -> dict[str, Any]:
    """The configuration of a small training whose environment is served."""
    server = {"worker": "sb3", "command": worker.command()}
    return {**worker.configuration("ppo"), "environment_server": server, **config}


def test_a_training_is_the_same_and_can_be_watched(worker: Any) -> None:
    viewer = Viewer()
    run = worker.train(viewer, **served(worker))
    assert run.code == 0, run.log
    assert run.returns == worker.trained("ppo").returns
    assert viewer.sizes == {(400, 600)}
    assert run.leftovers == []


@pytest.mark.parametrize(
    ("environment", "more", "kind", "reason"),
    [
        ("Breaks", {}, "RuntimeError", "the simulator is gone"),
        ("Leaves", {}, "SystemExit", r"the environment ended the process \(exit code 0\) at step 10 of an "
         r"episode: line \d+ of unruly.py, in step"),
        ("Hangs", {"step_timeout": 0.5}, "StepTimeout", r"the environment's step took longer than 0.5 s .*"),
    ],
)  # fmt: skip
def test_the_end_of_an_environment_ends_the_training(
    worker: Any, environment: str, more: dict[str, Any], kind: str, reason: str
) -> None:
    config = served(worker, env_id=f"unruly:{environment}-v0")
    config["environment_server"].update(more)
    run = worker.train(**config)
    (failed,) = run.events("run_failed")
    assert (run.code, failed["error_type"]) == (1, kind), run.log
    assert re.fullmatch(reason, failed["error"])
    assert "unruly.py" in failed["error"] + failed["traceback"]
    assert run.leftovers == []


def test_a_killed_server_ends_the_training(worker: Any) -> None:
    def kill(trial: ObservedProcess) -> None:
        assert trial.wait(60, until=lambda: any(one.get("type") == "episode" for one in trial.messages()))
        (server,) = psutil.Process(trial.popen.pid).children()
        server.kill()

    run = worker.train(kill, **served(worker, total_timesteps=10_000_000))
    (failed,) = run.events("run_failed")
    assert failed["error"].startswith(
        "the environment's process (worker 'sb3') was killed by signal 9 (SIGKILL)"
    )
    assert (run.code, run.leftovers) == (1, [])


def test_a_stopped_training_saves_and_leaves_no_server(worker: Any) -> None:
    assert_stopped_cleanly(worker.train(stop_after_an_episode, **served(worker, total_timesteps=10_000_000)))


def test_a_server_that_cannot_make_the_environment_is_refused(worker: Any) -> None:
    error = worker.error(**served(worker, env_id="ALE/Nowhere-v5"))
    assert error.startswith("environment 'ALE/Nowhere-v5' cannot be made here: Environment `Nowhere` doesn't")
