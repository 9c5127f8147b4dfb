"""A run without a keeper is reported as lost, with last message and live processes, and can be stopped."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import psutil
import pytest
from support import at_work, marked_processes, start_peer, wait_until

from mosaic_lab.errors import RunFailed
from mosaic_lab.keeper import locks
from mosaic_lab.keeper.run_store import write_json
from mosaic_lab.keeper.states import queued
from mosaic_lab.run_list import RunList
from mosaic_lab.runs import Run, Supervisor


def kill_keeper(run: Run) -> None:
    keeper = run.status.keeper_pid
    assert keeper is not None
    os.kill(keeper, signal.SIGKILL)
    wait_until(lambda: run.state == "lost")


def test_a_killed_keeper_takes_a_worker_that_obeys_with_it(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    kill_keeper(run)
    wait_until(lambda: not marked_processes(run.path))
    assert run.reason.endswith(
        "so it is not known how the worker ended; the worker's final message was run_cancelled"
    )
    assert not run.alive
    with pytest.raises(RunFailed, match="lost"):
        run.wait(1)
    wait_until(lambda: not run.folder.scratch_path.exists())
    run.remove()


def test_a_deaf_worker_is_shown_as_alive_and_can_be_stopped(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "leave_children", stay=True, deaf=True))
    kill_keeper(run)
    alive = wait_until(lambda: len(marked_processes(run.path)) == 2 and marked_processes(run.path))
    assert run.alive
    assert run.memory_mb is not None and run.memory_mb > 1
    wait_until(lambda: f"still alive: process {min(one.pid for one in alive)}" in run.reason)
    assert "run.stop() ends what is left" in run.reason
    run.stop(0.1)
    assert not marked_processes(run.path)
    assert not run.alive
    assert run.state == "lost"
    assert not run.folder.scratch_path.exists()


def test_a_daemon_without_our_marks_does_not_outlive_a_killed_keeper(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    """The daemon is double-forked, in its own session, deaf to SIGTERM, under `env -i`, with closed files and
    in another folder: only its ancestry identifies it."""
    pid_file = tmp_path / "daemon"
    runs = [
        at_work(start_peer(supervisor, "start_daemon", pid=f"{pid_file}{number}", grace_seconds=grace))
        for number, grace in enumerate((0.2, 600))
    ]
    daemons = [psutil.Process(int(Path(f"{pid_file}{number}").read_text())) for number in range(2)]
    for run in runs:
        kill_keeper(run)
    wait_until(lambda: not daemons[0].is_running())
    wait_until(lambda: not runs[0].alive)
    assert runs[1].alive and f"process {daemons[1].pid}" in runs[1].reason
    runs[1].stop(0)  # without waiting for the grace period
    wait_until(lambda: not daemons[1].is_running())
    assert not runs[1].alive


def test_a_run_whose_starter_died_half_way(supervisor: Supervisor) -> None:
    """The starter died after creating the folder, or after writing the first state."""
    (supervisor.store.root / "20260101-notes").mkdir(parents=True)  # not a run
    folder, lock = supervisor.store.create("20260101-000000-x-aaaa")
    (run,) = supervisor.runs()
    assert (run.state, run.reason) == ("queued", "is being started")
    os.close(lock)
    never = "it never started: the process that was starting it exited before its keeper took over"
    assert (run.state, run.reason) == ("lost", never)
    write_json(folder.state_path, queued("starting", 1.0).to_dict())
    assert (run.state, run.reason) == ("lost", never)
    assert repr(RunList(supervisor.runs())).endswith(never)
    run.remove()
    assert supervisor.runs() == []


def test_a_run_is_never_lost_while_it_is_being_started(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = locks.take
    seen: list[str] = []

    def take(path: Path, *, shared: bool = False) -> int | None:
        seen.extend(run.state for run in supervisor.runs())
        return taken(path, shared=shared)

    monkeypatch.setattr(locks, "take", take)
    start_peer(supervisor, "train").wait(30)
    assert "lost" not in seen


def test_a_run_from_before_the_machine_was_restarted(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    kill_keeper(run)
    status = run.folder.document(run.folder.state_path)
    run.folder.state_path.write_text(json.dumps({**status, "place": "another boot"}))
    assert "was restarted" in run.reason
    assert run.elapsed is None


def test_a_state_file_that_was_broken(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "train").wait(30)
    wait_until(lambda: not run.folder.alive())
    for torn in ("{", "[" * 100_000, " " * (17 << 20)):
        run.folder.state_path.write_text(torn)
        assert run.state == "lost"
        assert "state.json cannot be read" in run.reason
    good = {"state": "running", "reason": "", "since": 0}
    for broken in (
        {"state": "on holiday"},
        [],
        {**good, "keeper_pid": "me"},
        {**good, "outcome": 3},
        {**good, "outcome": {"duration_seconds": "long"}},
        {**good, "gpus": [float("inf")]},
        {**good, "gpus": 1},
    ):
        run.folder.state_path.write_text(json.dumps(broken))
        assert "state.json cannot be read" in run.reason
    assert supervisor.runs() == [run]


def test_a_live_run_whose_state_cannot_be_read_for_a_moment_is_not_lost(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    good = run.folder.state_path.read_text()
    run.folder.state_path.write_text("{")
    assert run.state == "running"
    assert "state.json cannot be read" in run.reason
    run.folder.state_path.write_text(good)
    assert run.stop().state == "cancelled"


def test_a_start_interrupted_after_its_keeper_took_over_is_stopped_and_stays(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mosaic_lab.runs import supervisor as starting

    start_keeper = starting.start_keeper

    def interrupted(*arguments: object) -> None:
        start_keeper(*arguments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(starting, "start_keeper", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start_peer(supervisor, "train", total_timesteps=10**6)
    (run,) = supervisor.runs()
    assert run.wait(30).state == "cancelled"
    assert not marked_processes(run.path)


def test_a_keeper_that_cannot_start_leaves_no_folder(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mosaic_lab.errors import MosaicError

    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(MosaicError, match="keeper"):
        supervisor.start(["x"], {"seed": 1}, worker="x")
    monkeypatch.setattr("sys.executable", "/no/such/python")
    with pytest.raises(MosaicError, match="/no/such/python"):
        supervisor.start(["x"], {"seed": 1}, worker="x")
    assert [path.name for path in supervisor.store.root.iterdir()] == [".slots"]
