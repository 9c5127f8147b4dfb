"""Runs on an NVIDIA GPU: they compute on it, take turns or share it, and free its memory."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import at_work, wait_until

import mosaic_lab as mosaic
from mosaic_lab import workers
from mosaic_lab.errors import ConfigurationError, RunFailed
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.keeper.warm_workers import WARM_WORKERS
from mosaic_lab.runs import Run
from mosaic_lab.runs.hardware import choose_gpus
from mosaic_lab.widgets.runs.run_view import run_views
from mosaic_lab.widgets.runs.system_charts import SystemCharts

pytestmark = [pytest.mark.extended, pytest.mark.timeout(900)]

SMALL = 200  # MiB: less than a process with a CUDA context uses
CARTPOLE: dict[str, Any] = {"algorithm": "ppo", "env": "CartPole-v1"}
PPO: dict[str, Any] = {**CARTPOLE, "num_envs": 4, "n_steps": 256, "total_timesteps": 4_096}
HOLDS = """
import json, sys, torch
free = torch.cuda.mem_get_info()[0] if torch.cuda.is_available() else 0
held = torch.ones(free - (100 << 20) if sys.argv[2] == "all" else 1 << 30, dtype=torch.uint8, device="cuda")
print(json.dumps({"event": "metrics", "payload": {"step": 1, "values": {"held": held.numel()}}}))
open(sys.argv[1]).read()
"""
COUNTS = """
import json, torch
values = {"devices": torch.cuda.device_count()}
if values["devices"]:
    ones = torch.ones(512, 512, device="cuda")
    values["product"] = (ones @ ones).mean().item()
print(json.dumps({"event": "metrics", "payload": {"step": 1, "values": values}}))
"""
TOO_LARGE = "import torch; torch.empty(1 << 40, dtype=torch.uint8, device='cuda')"


@pytest.fixture(scope="module", autouse=True)
def gpu() -> Iterator[int]:
    """Index of the only GPU that this session may use."""
    try:
        index = next(iter(choose_gpus(1)[0]))
    except ConfigurationError as error:
        pytest.skip(f"it needs an NVIDIA GPU: {error}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", str(index))
        yield index


@pytest.fixture(scope="module")
def idle(gpu: int) -> float:
    """GPU memory in use, in MiB, while no run uses the GPU."""
    return memory_mb(gpu)


@pytest.fixture(scope="module")
def lab(idle: float, tmp_path_factory: pytest.TempPathFactory) -> Iterator[mosaic.Lab]:
    yield mosaic.Lab(tmp_path_factory.mktemp("gpu") / "runs")
    WARM_WORKERS.close()


@pytest.fixture(autouse=True)
def none_left(lab: mosaic.Lab) -> Iterator[None]:
    """Stop runs that a failed test left, so that the next test finds the GPU free."""
    yield
    lab.stop_all(grace=0)


def memory_mb(gpu: int) -> float:
    query = ["nvidia-smi", f"--id={gpu}", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    return float(subprocess.check_output(query, text=True))


def script(lab: mosaic.Lab, code: str, *arguments: str, **given: Any) -> Run:
    """Start a script with the PyTorch of worker `sb3`."""
    command = [str(workers.ensure("sb3").python), "-c", code, *arguments]
    run = lab.train("script", command=command, **given)
    assert isinstance(run, Run)
    return run


def holding(lab: mosaic.Lab, gate: Path, size: str = "1 GiB", **given: Any) -> Run:
    """Start a script that holds GPU memory until the named pipe ``gate`` is opened for writing."""
    os.mkfifo(gate)
    return script(lab, HOLDS, str(gate), size, **given)


def holds(run: Run) -> bool:
    assert not run.finished, run.log()
    return len(run.metrics("held")) > 0


def is_warm(run: Run) -> bool:
    return any("forked by a warm worker" in step.reason for step in run.status.history)


def training(lab: mosaic.Lab, worker: str = "sb3", **given: Any) -> Run:
    run = lab.train(worker, **given)
    assert isinstance(run, Run)
    return run


@pytest.fixture(scope="module")
def trained(lab: mosaic.Lab) -> Run:
    return training(lab, **{**PPO, "total_timesteps": 20_480}, gpus=1).wait(300)


def assert_measured(run: Run, gpu: int, idle: float) -> None:
    assert run.gpus == (gpu,)
    assert run.metrics(f"system/gpu{gpu}_percent")["value"].max() > 0
    assert run.metrics(f"system/gpu{gpu}_memory_mb")["value"].max() > idle + SMALL


@pytest.mark.parametrize("gpus", [1, 0])
def test_a_script_computes_on_its_gpu_and_sees_none_without_a_request(lab: mosaic.Lab, gpus: int) -> None:
    run = script(lab, COUNTS, gpus=gpus).wait(120)
    assert run.metrics("devices")["value"].tolist() == [gpus]
    if gpus:
        assert run.metrics("product")["value"].tolist() == [512]
        assert "MiB" in run.provenance["gpus"][str(run.gpus[0])]
    else:
        with pytest.raises(ConfigurationError, match="this run gets no GPU"):
            training(lab, **PPO, device="cuda")


def test_more_gpus_than_this_session_may_use_are_refused(lab: mosaic.Lab, gpu: int) -> None:
    with pytest.raises(ConfigurationError, match="gpus=2, but 1 are available here: nvidia-smi lists"):
        training(lab, **PPO, gpus=2)


def test_a_training_on_the_gpu_is_measured_and_its_panel_shows_it(
    trained: Run, gpu: int, idle: float
) -> None:
    assert_measured(trained, gpu, idle)
    views = run_views([trained], alone=True)[1]
    for view in views:
        view.catch_up()
    charts = SystemCharts(lambda: views)
    charts.draw("step")
    assert "GPU up to " in charts.head.text and "GPU memory up to " in charts.head.text


@pytest.mark.parametrize("worker", ["cleanrl", "tianshou", "xuance"])
def test_the_other_libraries_train_on_the_gpu_too(
    lab: mosaic.Lab, worker: str, gpu: int, idle: float
) -> None:
    assert_measured(training(lab, worker, **CARTPOLE, total_timesteps=20_000, gpus=1).wait(300), gpu, idle)


def test_the_policy_plays_without_the_gpu(lab: mosaic.Lab, trained: Run, gpu: int, idle: float) -> None:
    with trained.policy() as policy:
        states = np.zeros((1_000, 4), np.float32)
        assert policy(states[0]) in (0, 1)
        assert len(policy(states)) == 1_000
        assert memory_mb(gpu) < idle + SMALL
        for what, observation in (("one observation", states[0]), ("1,000 observations", states)):
            begun = time.perf_counter()
            for _ in range(100):
                policy(observation)
            print(f"{what}: {(time.perf_counter() - begun) * 10:.3f} ms")
    players = {"PPO": mosaic.operators.rl(trained)}
    played = lab.evaluate(env="CartPole-v1", operators=players, seeds=range(2)).wait(300)
    assert (played.episodes()["total_reward"] > 0).all()


def test_a_warm_worker_leaves_the_gpu_alone_and_a_training_with_one_starts_cold(
    lab: mosaic.Lab, trained: Run, gpu: int, idle: float
) -> None:
    command = workers.ensure("sb3").command()
    training(lab, **PPO).wait(300)
    wait_until(lambda: WARM_WORKERS.find(command, compose_variables(os.environ)), 120)
    warm, cold = training(lab, **PPO).wait(300), training(lab, **PPO, gpus=1).wait(300)
    assert (is_warm(warm), is_warm(cold)) == (True, False)
    assert memory_mb(gpu) < idle + SMALL
    assert (warm.gpus, cold.gpus) == ((), (gpu,))


def test_runs_that_each_request_the_only_gpu_take_turns(lab: mosaic.Lab, tmp_path: Path) -> None:
    first = at_work(holding(lab, tmp_path / "first", gpus=1))
    second = holding(lab, tmp_path / "second", gpus=1)
    wait_until(lambda: "waits for a free GPU" in second.reason)
    wait_until(lambda: holds(first), 120)
    assert second.state == "queued"
    (tmp_path / "first").write_text("")
    first.wait(60)
    wait_until(lambda: holds(second), 120)
    (tmp_path / "second").write_text("")
    assert second.wait(60).gpus == first.gpus


def test_trials_of_a_sweep_share_a_gpu_that_they_name(lab: mosaic.Lab, gpu: int) -> None:
    sweep = lab.sweep(
        "sb3", search={"learning_rate": [1e-4, 1e-3]}, sampler="grid", pruner="none", trials=2, parallel=2,
        gpus=[gpu], **PPO,
    ).wait(300)  # fmt: skip
    runs = [run for trial in (0, 1) for run in sweep.runs(trial)]
    assert [(run.state, run.gpus) for run in runs] == [("completed", (gpu,))] * 2
    began = [next(step.timestamp for step in run.status.history if step.state == "running") for run in runs]
    assert max(began) < min(run.status.since for run in runs), "both trials run at the same time"


def test_a_stopped_training_frees_the_gpu_and_is_resumed_from_its_checkpoint(
    lab: mosaic.Lab, gpu: int, idle: float
) -> None:
    run = training(lab, **{**PPO, "total_timesteps": 10_000_000}, gpus=1)
    wait_until(lambda: (run.step or 0) >= 2 * 1_024, 120)
    assert memory_mb(gpu) > idle + SMALL
    step = run.stop().checkpoints[-1].step
    assert run.state == "cancelled" and f"its last checkpoint is at step {step:,}" in run.reason
    wait_until(lambda: memory_mb(gpu) < idle + SMALL)
    resumed = training(lab, **{**PPO, "total_timesteps": step + 2_048}, resume_from=run, gpus=1).wait(300)
    assert resumed.resumed_step == step and resumed.checkpoints[-1].step >= step + 2_048


def test_a_killed_worker_frees_the_gpu_memory_of_its_processes(
    lab: mosaic.Lab, tmp_path: Path, gpu: int, idle: float
) -> None:
    run = holding(lab, tmp_path / "gate", gpus=1)
    wait_until(lambda: holds(run), 120)
    assert memory_mb(gpu) > idle + 1_024
    assert run.status.worker_pid is not None
    os.kill(run.status.worker_pid, signal.SIGKILL)
    wait_until(lambda: run.finished)
    assert run.state == "failed" and "killed by signal 9 (SIGKILL)" in run.reason
    wait_until(lambda: memory_mb(gpu) < idle + SMALL)


def test_a_script_that_requests_too_much_gpu_memory_fails_with_pytorchs_message(lab: mosaic.Lab) -> None:
    run = script(lab, TOO_LARGE, gpus=1)
    with pytest.raises(RunFailed, match=r"CUDA out of memory\. Tried to allocate 1024\.00 GiB"):
        run.wait(120)
    assert run.reason == "ScriptExit: the script ended with exit code 1; its output is in the log"


def test_a_training_on_a_full_gpu_fails_with_the_reason(lab: mosaic.Lab, gpu: int, tmp_path: Path) -> None:
    full = holding(lab, tmp_path / "gate", "all", gpus=[gpu])
    wait_until(lambda: holds(full), 120)
    run = training(lab, **PPO, gpus=[gpu])
    with pytest.raises(RunFailed):
        run.wait(120)
    full.stop()
    assert "out of memory" in run.reason
