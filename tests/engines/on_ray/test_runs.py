"""Runs on a cluster behave as local runs do: folder, state, log, stop, outcome, frames and checkpoints."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from engines.namespace import OLDER_RAY
from engines.on_ray.conftest import CLIENT, HEAD, TOKEN, until

import mosaic_lab as mosaic
from mosaic_lab.cli import main
from mosaic_lab.engines import clusters
from mosaic_lab.engines.bridge_environment import RAY_VERSION
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.fastlane import FrameSource
from mosaic_lab.runs import Run

Start = Callable[..., Run]
_PAGE_SECONDS = 240
_CARTPOLE = {"algorithm": "ppo", "env": "CartPole-v1", "num_envs": 1, "num_steps": 64, "on": "prepared"}


def test_a_script_with_its_folder_its_gpu_and_its_outcome(
    script: Start, cluster: Cluster, mosaic_home: Path
) -> None:
    secret = "a-key-of-the-user"
    run = script(gpus=1, WANDB_API_KEY=secret)
    reasons = set()
    until(lambda: reasons.add(run.reason) or run.finished)
    assert run.state == "completed", run.log()
    assert any("building its environment" in reason for reason in reasons)  # building reports its progress
    assert run.reason == "ran to the end; on 127.0.0.1"
    assert run.outcome is not None
    assert run.outcome.exit_code == 0
    assert run.outcome.peak_memory_mb
    assert "token: None gpus: 0" in run.log(50)
    assert run.log().splitlines()[-1] == "said to the end with its data"
    assert (run.path / "checkpoints" / "step-20.pt").read_bytes() == b"weights" * 1_000_000
    until(lambda: not list(Path(cluster.folder).glob("runs/1/[0-9]*")))  # deleted once they are read
    ours = (run.path, Path(cluster.folder), mosaic_home / "bridges", mosaic_home / "clusters.json")
    assert list((mosaic_home / "bridges").glob("*.log")), "the search must include the bridge's log"
    assert not files_with([TOKEN, secret], ours)
    assert run.provenance["node"] == "127.0.0.1"
    folder = run.provenance["environment"]["python_executable"]
    assert folder.startswith(cluster.folder)  # the environment on the node, not the local one
    assert "gpu-lab" in main_output(["runs", "show", run.id, "--store", str(run.path.parent)])


def test_lines_are_there_as_they_are_written(script: Start) -> None:
    run = script(LINES=100_000, PAUSE=0.02)
    until(lambda: "loss=20" in run.log(50))
    assert run.state == "running"
    run.stop(reason="enough was seen")
    assert run.state == "cancelled"
    assert re.match(r"stopped on request: enough was seen", run.reason)
    numbers = re.findall(r"^loss=(\d+)$", (run.path / "worker.log").read_text(), re.MULTILINE)
    assert numbers == [str(number) for number in range(len(numbers))]


def test_what_is_busy_is_waited_for_and_what_is_impossible_is_refused(script: Start) -> None:
    first = script(gpus=1, LINES=100_000, PAUSE=0.05)
    until(lambda: first.state == "running")
    second, third = script(gpus=1), script(gpus=2)
    until(lambda: second.reason == "waits for 1 GPU; 1 of 1 are busy on gpu-lab")
    assert second.state == "queued"
    until(lambda: third.finished)
    assert third.state == "failed"
    assert (
        third.reason == "no node of gpu-lab can ever provide 1 CPU and 2 GPUs: the largest has 2 CPUs and "
        "1 GPU"
    )
    second.stop()
    assert second.state == "cancelled"
    assert "stopped before it started" in second.reason
    first.stop()


@pytest.mark.extended
def test_from_a_machine_that_is_no_node(script: Start, cluster: Cluster) -> None:
    clusters.add(replace(cluster, name="from-outside", address=CLIENT))
    run = script(on="from-outside")
    run.wait(240)  # the head first starts a server for the Ray client
    assert run.log().splitlines()[-1] == "said to the end with its data"


@pytest.fixture
def prepared(cluster: Cluster, mosaic_home: Path, tmp_path: Path) -> mosaic.Lab:
    """A lab and a cluster "prepared" whose nodes share this machine's environments: PyTorch takes minutes."""
    clusters.add(replace(cluster, name="prepared", folder=str(mosaic_home)))
    return mosaic.Lab(tmp_path / "runs")


@pytest.mark.extended
def test_a_training_of_cleanrl_and_its_policy(prepared: mosaic.Lab) -> None:
    run = prepared.train("cleanrl", **_CARTPOLE, total_timesteps=500).wait(240)
    assert len(run.metrics("episode_return")) > 5
    assert run.checkpoints[-1].path.is_file()
    ppo = {"PPO": mosaic.operators.rl(run)}
    played = prepared.evaluate(env="CartPole-v1", operators=ppo, seeds=[0], on="prepared").wait(240)
    assert list(played.results()["status"]) == ["ok"], "the checkpoint was not sent to the node"


@pytest.mark.extended
def test_a_training_of_cleanrl_is_resumed(prepared: mosaic.Lab) -> None:
    run = prepared.train("cleanrl", **_CARTPOLE, total_timesteps=500).wait(240)
    further = prepared.train("cleanrl", **_CARTPOLE, total_timesteps=1_000, resume_from=run).wait(240)
    assert further.metrics()["step"].max() > 500
    played = {"env": "CartPole-v1", "operators": {"PPO": mosaic.operators.rl(further)}, "seeds": range(3)}
    there = prepared.evaluate(**played, on="prepared").wait(240)
    assert there.fingerprint() == prepared.evaluate(**played).wait(120).fingerprint()


@pytest.mark.extended
def test_its_frames_are_seen_here(prepared: mosaic.Lab) -> None:
    run = prepared.train("cleanrl", **_CARTPOLE, total_timesteps=10_000_000)
    source = FrameSource(run.path)
    seen: list[int] = []

    def several() -> bool:
        if (frame := source.poll(10)) is not None:
            assert frame.shape == (400, 600, 3)
            seen.append(frame.hud.step or 0)
        return len(set(seen)) > 3

    until(several, 240, lambda: f"{source.reason}; {run.reason}")
    run.stop()
    assert run.state == "cancelled"


@pytest.mark.extended
def test_the_trials_of_a_sweep(prepared: mosaic.Lab) -> None:
    sweep = prepared.sweep(
        "cleanrl",
        **_CARTPOLE,
        total_timesteps=600,
        search={"learning_rate": [1e-3, 1e-2]},
        sampler="grid",
        pruner="none",
        trials=2,
        parallel=2,
    )
    sweep.wait(400)
    assert [trial.state for trial in sweep.records] == ["completed", "completed"]
    trials = [run for trial in sweep.records for run in sweep.runs(trial)]
    assert [run.on for run in trials] == ["prepared", "prepared"]
    assert all(run.checkpoints[-1].path.is_file() for run in trials)


def test_the_check_says_what_there_is(cluster: Cluster, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["clusters", "check", "gpu-lab"]) == 0
    said = capfd.readouterr().out
    assert "gpu-lab (127.0.0.1:6379) answers: Ray 2." in said
    assert "1 node with 2 CPUs and 1 GPU in total" in said
    assert "would start at once" in said


@pytest.mark.extended
def test_versions_of_a_profile_that_the_cluster_does_not_have(
    script: Start, cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    """The versions that the cluster reports are used; through Ray's client they may not be reported."""
    head, client = (
        place.replace("127.0.0.1", "localhost") for place in (HEAD, CLIENT)
    )  # an address that was not checked before
    clusters.add(replace(cluster, name="older", address=client, ray_version=OLDER_RAY))
    assert main(["clusters", "check", "older"]) == 1
    said = capfd.readouterr().err
    assert "its Ray or its Python may be another version than the bridge's: `mosaic-lab clusters add`" in said
    clusters.add(replace(cluster, name="older", address=head, ray_version=OLDER_RAY))
    assert main(["clusters", "check", "older"]) == 0
    assert f"answers: Ray {RAY_VERSION}" in capfd.readouterr().out
    run = script(on="older")
    run.wait(120)
    assert len(re.findall(r"^loss=", run.log(50), re.MULTILINE)) == 20


@pytest.mark.extended
def test_a_wrong_token(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAB_TOKEN", "f" * 48)
    assert main(["clusters", "check", "gpu-lab"]) == 1
    assert "token" in capfd.readouterr().err


def files_with(words: list[str], places: Iterable[Path]) -> str:
    """Return the names of all files in these places that contain one of these words."""
    patterns = [part for word in words for part in ("-e", word)]
    found = subprocess.run(
        ["grep", "-rlF", *patterns, *places], capture_output=True, text=True, timeout=_PAGE_SECONDS
    )
    gone = "No such file or directory"  # a file may be removed during the search
    assert all(line.endswith(gone) for line in found.stderr.splitlines()), found.stderr
    return found.stdout


def main_output(arguments: list[str]) -> str:
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as output:
        main(arguments)
    return output.getvalue()


@pytest.mark.extended
def test_the_page_about_it(cluster: Cluster, tmp_path: Path) -> None:
    page = Path(mosaic.__file__).parent / "engines" / "README.md"
    text = page.read_text(encoding="utf-8").replace("10.0.0.5:6379", cluster.address)
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    (tmp_path / "train.py").write_text("print('loss=1')")
    tools, here = Path(sys.executable).parent, {"cwd": tmp_path, "check": True, "timeout": _PAGE_SECONDS}
    folders = f"--folder {cluster.folder} --wheels {cluster.wheels} --token-env"
    commands = blocks["bash"].replace("--token-env", folders)
    try:
        subprocess.run(["bash", "-euc", f'PATH="{tools}:$PATH"\n{commands}'], **here)
        subprocess.run([sys.executable, "-c", blocks["python"]], **here)
    finally:
        clusters.add(cluster)
