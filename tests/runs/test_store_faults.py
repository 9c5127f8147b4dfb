"""Faults of the run store: a full disk; folders and files deleted, moved or replaced during a run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import at_work, in_own_mounts, marked_processes, start_peer, store, wait_until

from mosaic_lab.errors import MosaicError, RunFailed, UnknownRun
from mosaic_lab.keeper import locks
from mosaic_lab.runs import Run, Supervisor


def delete(folder: Path) -> None:
    """Delete the folder of a running run; retry, since its worker and keeper keep writing to it."""
    inode = folder.stat().st_ino
    while folder.exists() and folder.stat().st_ino == inode:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_disk_that_fills_up_and_is_freed_again(tmp_path: Path) -> None:
    run = in_own_mounts("full_disk.py", "fills_and_empties", tmp_path)
    assert run["reason_then"].endswith("the run store's disk is full, lines may be getting lost")
    assert run["state"] == "completed"
    assert run["steps"] == sorted(set(run["steps"]))  # the written lines are complete and in order
    assert run["health"]["dropped_by_worker"] > 0  # dropped lines are counted
    assert run["health"]["malformed"] <= 1  # the line that filled the disk


def test_a_disk_that_stays_full(tmp_path: Path) -> None:
    found = in_own_mounts("full_disk.py", "stays_full", tmp_path)
    assert "disk is full, so its last lines may be missing" in found["steady"]["reason"]
    assert found["steady"]["steps"] == list(range(len(found["steady"]["steps"]))) != []
    assert found["stopped"]["state"] == "cancelled"
    assert "after the request and was killed" in found["stopped"]["reason"]
    assert "No space left on device" in found["refused"][0]
    assert found["refused"][1].endswith("/disk/runs is full")
    assert found["runs"] == 2  # a run that could not start leaves no folder
    assert found["other"]["state"] == "completed"
    assert found["other"]["steps"] == list(range(100))


def test_a_store_that_cannot_be_written() -> None:
    with pytest.raises(MosaicError, match="cannot create a run folder in"):
        start_peer(Supervisor("/proc/runs"), "train")


def test_a_folder_deleted_under_a_running_run(supervisor: Supervisor, tmp_path: Path) -> None:
    """The keeper stops the worker, and the other run is not disturbed. Files that the worker wrote after the
    deletion stay, and the run's reason reports the deletion."""
    other = start_peer(supervisor, "train", hold=str(tmp_path / "hold"), go=str(tmp_path / "go"))
    run = at_work(start_peer(supervisor, "keep_writing_files"))
    wait_until((run.path / "checkpoints").exists)
    delete(run.path)
    wait_until(lambda: not marked_processes(run.path))
    assert run.wait(5).state == "cancelled"
    assert "its run folder was deleted" in run.reason
    assert (run.path / "checkpoints" / "newest").exists()
    assert supervisor.run(run.id) == run
    (tmp_path / "go").touch()
    assert other.wait(30).state == "completed"
    assert len(other.metrics("value")) == 100


def test_a_folder_deleted_under_a_hanging_run(supervisor: Supervisor) -> None:
    """No process calls stop(): the keeper itself detects the deletion."""
    run = at_work(start_peer(supervisor, "hang", grace_seconds=0.2))
    delete(run.path)
    assert run.state == "lost"
    with pytest.raises(RunFailed, match="its folder was deleted or moved away"):
        run.wait(5)
    with pytest.raises(UnknownRun):
        supervisor.run(run.id)
    wait_until(lambda: not marked_processes(run.path))
    wait_until(lambda: not run.alive)


def test_a_folder_moved_under_a_running_run(supervisor: Supervisor, tmp_path: Path) -> None:
    """The run is stopped, since its worker knows only the old path; its end is recorded in the new folder."""
    run = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    moved = Run(run.path.rename(tmp_path / "kept"))
    wait_until(lambda: moved.state == "cancelled")
    assert moved.reason.startswith(f"its run folder was moved to {tmp_path / 'kept'}")
    assert len(moved.metrics("value")) > 0
    assert not run.path.exists()


@pytest.mark.parametrize("others", [(), ("state.json", "launch.json", "config.json")])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_lock_file_deleted_or_replaced_under_a_running_run(
    supervisor: Supervisor, tmp_path: Path, replaced: bool, others: tuple[str, ...]
) -> None:
    """The run continues when a clean-up of stale locks, a file synchroniser or the worker itself removes its
    lock file; a worker may delete ``others`` too."""
    meeting = {"hold": str(tmp_path / "hold"), "go": str(tmp_path / "go")}
    run = at_work(start_peer(supervisor, "train", total_timesteps=200, **meeting))
    for name in others:
        (run.path / name).unlink()
    run.folder.lock_path.unlink()
    if replaced:
        run.folder.lock_path.write_text("")
    assert run.state == "running"
    with pytest.raises(MosaicError, match="cannot be removed"):
        run.remove()
    with pytest.raises(MosaicError, match="can be resumed when it has ended"):
        supervisor.resume(run)
    wait_until(lambda: locks.held(run.folder.lock_path))  # restored, for processes that check only the file
    (tmp_path / "go").touch()
    assert run.wait(30).state == "completed"
    assert list(run.metrics("value")["step"]) == list(range(200))


def test_a_worker_that_deletes_its_telemetry_is_not_said_to_have_left_early(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    meeting = {"hold": str(tmp_path / "hold"), "go": str(tmp_path / "go")}
    run = at_work(start_peer(supervisor, "train", total_timesteps=200, **meeting))
    run.folder.telemetry_path.unlink()
    (tmp_path / "go").touch()
    with pytest.raises(RunFailed, match=r"telemetry.jsonl was deleted, .* ran to the end \(exit code 0\)"):
        run.wait(30)


def test_a_folder_that_cannot_be_written_is_not_resumed(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "train").wait(30)
    before = run.folder.config_path.read_text()
    run.folder.lock_path.unlink()
    run.folder.lock_path.mkdir()
    with pytest.raises(MosaicError, match=f"run {run.id} could not be started again: .*keeper.lock"):
        supervisor.resume(run, config={"total_timesteps": 7})
    assert (run.state, run.folder.config_path.read_text()) == ("completed", before)


def test_a_queued_run_without_its_lock_file_keeps_its_place(tmp_path: Path) -> None:
    with store(tmp_path / "runs", max_running=1) as supervisor:
        first = at_work(start_peer(supervisor, "hang", grace_seconds=0))
        second, third = start_peer(supervisor, "train"), start_peer(supervisor, "train")
        wait_until(lambda: "1 ahead" in third.reason)
        os.kill(second.status.keeper_pid or 0, signal.SIGSTOP)  # it cannot restore its lock file
        second.folder.lock_path.unlink()
        assert second.state == "queued"
        first.stop()
        wait_until(lambda: "1 ahead" in third.reason)
        os.kill(second.status.keeper_pid or 0, signal.SIGCONT)
        assert second.wait(30).state == third.wait(30).state == "completed"


def put_in_place(path: Path, kind: str) -> None:
    path.unlink()
    if kind == "a named pipe":
        os.mkfifo(path)
    else:
        path.mkdir()


@pytest.mark.parametrize("kind", ["a named pipe", pytest.param("a folder", marks=pytest.mark.extended)])
def test_what_is_no_file_where_a_file_belongs(supervisor: Supervisor, tmp_path: Path, kind: str) -> None:
    """The affected run reports it; no call hangs, and every other run stays in the list."""
    good = start_peer(supervisor, "train").wait(30)
    names = ("state.json", "telemetry.jsonl", "config.json", "launch.json", "worker.log", "keeper.lock")
    runs = {name: start_peer(supervisor, "train").wait(30) for name in names}
    for name, run in runs.items():
        wait_until(lambda run=run: not run.folder.alive())
        put_in_place(run.path / name, kind)
    code = "import sys, mosaic_lab; lab = mosaic_lab.Lab(sys.argv[1]); print(lab.runs); print(lab)"
    command = [sys.executable, "-c", code, str(supervisor.store.root)]
    listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    for name in names[:-1]:
        (line,) = (line for line in listed.splitlines() if runs[name].id in line)
        assert f"its {name} " in line and f"is {kind}" in line
    assert runs["keeper.lock"].state == good.state == "completed"
    for read in (runs["telemetry.jsonl"].metrics, runs["telemetry.jsonl"].episodes):
        with pytest.raises(MosaicError, match=f"telemetry.jsonl is {kind}, not a file"):
            read()
    live = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    put_in_place(live.folder.telemetry_path, kind)
    assert live.stop().state == "cancelled"


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
