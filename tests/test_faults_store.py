"""Faults of the run store: a full disk, a run folder deleted under a running run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support import at_work, in_own_mounts, marked_processes, start_peer, store, wait_until

from mosaic_lab.errors import MosaicError, RunFailed, UnknownRun
from mosaic_lab.supervisor import Supervisor


def test_a_disk_that_fills_up_and_is_freed_again(tmp_path: Path) -> None:
    run = in_own_mounts("full_disk.py", "fills_and_empties", tmp_path)
    assert run["told"].endswith("the run store's disk is full, lines may be getting lost")
    assert run["state"] == "completed"
    assert run["steps"] == sorted(set(run["steps"]))  # what was written is whole and in order
    assert run["health"]["dropped_by_worker"] > 0  # and what was not is counted
    assert run["health"]["malformed"] <= 1  # the line that hit the end of the disk


def test_a_disk_that_stays_full(tmp_path: Path) -> None:
    found = in_own_mounts("full_disk.py", "stays_full", tmp_path)
    assert "disk is full, so its last lines may be missing" in found["steady"]["reason"]
    assert found["steady"]["steps"] == list(range(len(found["steady"]["steps"]))) != []
    assert found["stopped"]["state"] == "cancelled"
    assert "was killed with SIGKILL" in found["stopped"]["reason"]
    assert "No space left on device" in found["refused"]
    assert found["runs"] == 2  # a run that could not start leaves no folder
    assert found["other"]["state"] == "completed"
    assert found["other"]["steps"] == list(range(100))


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MosaicError, match="no run folder can be made in"):
        start_peer(Supervisor(tmp_path / "file" / "runs"), "train")


def test_a_folder_deleted_under_a_running_run(supervisor: Supervisor, tmp_path: Path) -> None:
    """Its worker is stopped, nothing of it stays or comes back, and the other run is not disturbed."""
    other = start_peer(supervisor, "train", hold=str(tmp_path / "hold"), go=str(tmp_path / "go"))
    run = at_work(start_peer(supervisor, "keep_writing_files"))
    wait_until((run.path / "checkpoints").exists)
    while run.folder.lock_path.exists():
        shutil.rmtree(run.path, ignore_errors=True)  # the worker writes meanwhile, so once may not be enough
    assert run.state == "lost"
    assert "was deleted" in run.reason
    with pytest.raises(RunFailed, match="was deleted"):
        run.wait(5)
    run.stop()
    wait_until(lambda: not run.alive)
    assert not marked_processes(run.path)
    wait_until(lambda: not run.path.exists())
    with pytest.raises(UnknownRun):
        supervisor.run(run.id)
    (tmp_path / "go").touch()
    assert other.wait(30).state == "completed"
    assert len(other.metrics()) == 100


def test_a_folder_deleted_under_a_hanging_run(supervisor: Supervisor) -> None:
    """Nobody calls stop(): the keeper finds out by itself."""
    run = at_work(start_peer(supervisor, "hang", grace_seconds=0.2))
    shutil.rmtree(run.path)
    wait_until(lambda: not marked_processes(run.path))
    wait_until(lambda: not run.alive)


def test_a_folder_deleted_under_a_queued_run(tmp_path: Path) -> None:
    with store(tmp_path / "runs", max_running=1) as supervisor:
        first = at_work(start_peer(supervisor, "hang", grace_seconds=0))
        second, third = start_peer(supervisor, "train"), start_peer(supervisor, "train")
        wait_until(lambda: "1 ahead" in third.reason)
        shutil.rmtree(second.path)
        wait_until(lambda: "0 ahead" in third.reason)
        first.stop()
        assert third.wait(30).state == "completed"
        assert not second.path.exists()


def test_the_whole_store_deleted(tmp_path: Path) -> None:
    with store(tmp_path / "runs", max_running=1) as supervisor:
        first = at_work(start_peer(supervisor, "hang", grace_seconds=0.2))
        second = start_peer(supervisor, "train")
        wait_until(lambda: "0 ahead" in second.reason)
        shutil.rmtree(supervisor.store.root)
        wait_until(lambda: not first.alive and not second.alive)
        assert not marked_processes(tmp_path)
        assert supervisor.runs() == []
        assert not supervisor.store.root.exists()
        assert start_peer(supervisor, "train").wait(30).state == "completed"
