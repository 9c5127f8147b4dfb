"""Every end of a training is orderly: no process or file is left behind, and the reason is reported."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from mosaic_contract.conformance.observed_process import ObservedProcess

LONG = {"algorithm": "ppo", "env_id": "CartPole-v1", "total_timesteps": 10_000_000}


def until_training(trial: ObservedProcess) -> None:
    """Wait until the training has reported its first metrics."""
    assert trial.wait(120, lambda: any(m.get("event") == "metrics" for m in trial.messages()))
    assert trial.code is None, trial.log_tail()


@pytest.mark.parametrize("signum", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.extended)])
def test_a_signal_saves_a_checkpoint_and_cancels(worker: Any, signum: signal.Signals) -> None:
    """SIGTERM goes to the process group, as from the supervisor; SIGINT to the shim only."""

    def during(trial: ObservedProcess) -> None:
        until_training(trial)
        if signum == signal.SIGTERM:
            trial.signal(signum)
        else:
            os.kill(trial.popen.pid, signum)
        assert trial.wait(10), "ends within the grace period"

    run = worker.train(during, **LONG)
    assert run.code == 128 + signum
    assert run.messages[-1]["event"] == "run_cancelled"
    assert signum.name in run.messages[-1]["payload"]["reason"]
    (saved,) = run.events("checkpoint_saved")
    assert Path(saved["checkpoint_path"]).is_file()
    assert saved["step"] > 0
    assert run.messages[-1]["payload"]["completed_episodes"] == len(run.episodes)
    assert run.messages[-1]["payload"]["partial_results"]["steps"] >= saved["step"]
    assert run.leftovers == []
    assert run.outside == []


def test_the_script_does_not_outlive_a_killed_shim(worker: Any) -> None:
    scripts: list[psutil.Process] = []

    def during(trial: ObservedProcess) -> None:
        until_training(trial)
        scripts.extend(psutil.Process(trial.popen.pid).children())
        os.kill(trial.popen.pid, signal.SIGKILL)
        assert trial.wait(10)
        psutil.wait_procs(scripts, timeout=15)

    run = worker.train(during, **LONG)
    assert len(scripts) == 1
    assert run.leftovers == []


def test_a_training_that_loses_its_last_checkpoint_fails(worker: Any) -> None:
    def during(trial: ObservedProcess) -> None:
        (trial.stderr_path.parent / "checkpoints").touch()  # a file in place of the folder

    run = worker.train(during, algorithm="ppo", **worker.small["ppo"])
    assert run.code == 1
    assert run.messages[-1]["payload"]["error"].startswith(
        "the checkpoint of the last step, 2,048, could not be saved: [Errno 17] File exists: "
    )
