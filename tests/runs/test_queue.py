"""Queue: a limit on concurrent runs, first come first served across processes; GPUs assigned by locks."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import at_work, pretend_two_gpus, start_peer, store, wait_until

from mosaic_lab.errors import ConfigurationError
from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.runs.hardware import check_device


def hold(tmp_path: Path, name: str) -> dict[str, str]:
    return {"hold": str(tmp_path / f"{name}-hold"), "go": str(tmp_path / f"{name}-go")}


def go(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}-go").touch()


def test_runs_beyond_the_limit_wait_their_turn(tmp_path: Path) -> None:
    with store(tmp_path / "runs", max_running=2) as supervisor:
        runs = [start_peer(supervisor, "train", seed=i, **hold(tmp_path, str(i))) for i in range(5)]
        wait_until(lambda: [run.state for run in runs[:2]] == ["running"] * 2)
        wait_until(lambda: "2 ahead in the queue" in runs[4].reason)
        assert [run.state for run in runs[2:]] == ["queued"] * 3
        assert "limit 2 at once" in runs[2].reason
        go(tmp_path, "1")
        at_work(runs[2])
        assert [run.state for run in runs[3:]] == ["queued"] * 2
        for i in (0, 2, 3, 4):
            go(tmp_path, str(i))
        for run in runs:
            assert run.wait(60).state == "completed"


def test_the_limit_is_the_number_of_cores_unless_said_otherwise(tmp_path: Path) -> None:
    assert Supervisor(tmp_path).max_running == len(os.sched_getaffinity(0))
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "runs"):
        with pytest.raises(ConfigurationError, match="file is a file: give the folder of a run store"):
            Supervisor(folder)
    with pytest.raises(ConfigurationError, match="max_running=0"):
        Supervisor(tmp_path, 0)


def test_a_keeper_killed_in_the_queue_blocks_no_other_run(tmp_path: Path) -> None:
    with store(tmp_path / "runs", max_running=1) as supervisor:
        first, second, third = (start_peer(supervisor, "train", **hold(tmp_path, name)) for name in "abc")
        at_work(first)
        wait_until(lambda: "1 ahead" in third.reason)
        assert second.status.keeper_pid is not None
        os.kill(second.status.keeper_pid, signal.SIGKILL)
        wait_until(lambda: second.state == "lost")
        go(tmp_path, "a")
        at_work(third)
        assert second.reason.startswith("its keeper")


@pytest.fixture
def two_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    """A supervisor on a machine with two GPUs, listed by a fake nvidia-smi."""
    pretend_two_gpus(tmp_path, monkeypatch)
    with store(tmp_path / "runs") as supervisor:
        yield supervisor


def visible(run: Run) -> str:
    line = at_work(run).folder.telemetry_path.read_text().splitlines()[0]
    devices: str = json.loads(line)["payload"]["CUDA_VISIBLE_DEVICES"]
    return devices


def test_every_run_gets_a_gpu_of_its_own_and_the_next_one_waits(two_gpus: Supervisor, tmp_path: Path) -> None:
    runs = [start_peer(two_gpus, "show_environment", gpus=1, **hold(tmp_path, name)) for name in "abc"]
    assert [visible(run) for run in runs[:2]] == ["0", "1"]
    assert (runs[0].gpus, runs[1].gpus) == ((0,), (1,))
    assert runs[0].provenance["gpus"] == {"0": "NVIDIA A, 8 MiB", "1": "NVIDIA B, 9 MiB"}
    wait_until(lambda: "waits for a free GPU" in runs[2].reason)
    plain = start_peer(two_gpus, "show_environment")  # not blocked by the run that waits for a GPU
    assert plain.wait(30).state == "completed"
    go(tmp_path, "b")
    assert visible(runs[2]) == "1"


def test_gpus_that_are_named_are_given_and_shared(two_gpus: Supervisor, tmp_path: Path) -> None:
    runs = [start_peer(two_gpus, "show_environment", gpus=[1, 0], **hold(tmp_path, name)) for name in "ab"]
    assert [visible(run) for run in runs] == ["0,1", "0,1"]
    alone = start_peer(two_gpus, "show_environment", gpus=1)
    wait_until(lambda: "waits for a free GPU" in alone.reason)
    go(tmp_path, "a")
    go(tmp_path, "b")
    assert alone.wait(30).gpus == (0,)


def test_another_store_on_the_same_machine_sees_the_same_gpus(two_gpus: Supervisor, tmp_path: Path) -> None:
    at_work(start_peer(two_gpus, "show_environment", gpus=2, **hold(tmp_path, "a")))
    with store(tmp_path / "other") as other:
        run = start_peer(other, "show_environment", gpus=1)
        wait_until(lambda: "waits for a free GPU" in run.reason)
        go(tmp_path, "a")
        assert run.wait(30).state == "completed"


def test_no_gpu_is_visible_unless_requested(two_gpus: Supervisor) -> None:
    assert visible(start_peer(two_gpus, "show_environment")) == ""


@pytest.mark.parametrize("gpus", [3, [0, 2], -1, True])
def test_gpus_that_are_not_there_are_refused_at_once(two_gpus: Supervisor, gpus: int | list[int]) -> None:
    with pytest.raises(ConfigurationError, match="gpus="):
        start_peer(two_gpus, "train", gpus=gpus)
    assert two_gpus.runs() == []


def test_a_device_is_one_of_the_runs_gpus() -> None:
    for device, gpus in ((None, 0), ("cpu", 0), ("cuda", 1), ("cuda:0", [3]), ("cuda:1", [2, 3]), (7, 0)):
        check_device(device, None, gpus)
    for device, gpus in (("cuda", 0), ("gpu", []), ("cuda:1", 1), ("cuda:2", [2, 3])):
        with pytest.raises(ConfigurationError, match=f"device={device!r}, and this run gets "):
            check_device(device, None, gpus)
    check_device(None, 0.5, 1)
    with pytest.raises(ConfigurationError, match=r"need 1\.5 GPUs, and this run gets 1 GPU: .*gpus=2"):
        check_device("auto", 1.5, [3])


def test_what_limits_this_session_limits_its_runs(
    two_gpus: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-bb")
    assert visible(start_peer(two_gpus, "show_environment", gpus=1)) == "1"
    with pytest.raises(ConfigurationError, match="CUDA_VISIBLE_DEVICES='GPU-bb' limits this session"):
        start_peer(two_gpus, "train", gpus=2)


def test_a_machine_without_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="nvidia-smi is not on the PATH"):
        start_peer(Supervisor(tmp_path), "train", gpus=1)
