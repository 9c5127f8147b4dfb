"""stop(): legal in every state, any number of times, from any process; signals only the run's processes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from support import at_work, marked_processes, start_peer, store, wait_until

from mosaic_lab.errors import RunFailed
from mosaic_lab.keeper.processes import place
from mosaic_lab.keeper.states import State
from mosaic_lab.runs import Run, RunGroup, Supervisor


def test_a_worker_that_obeys_is_cancelled_by_sigterm(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    assert run.stop() is run
    assert run.state == "cancelled"
    assert run.reason == "stopped on request"
    assert run.outcome is not None and run.outcome.stopped_by == "SIGTERM"
    assert [step.state for step in run.status.history][-2:] == ["stopping", "cancelled"]
    assert run.wait() is run  # being cancelled is not a failure


def test_a_stopped_run_says_where_it_can_be_resumed(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "save_checkpoints", stay=True))
    wait_until(lambda: '"step": 30' in run.folder.telemetry_path.read_text() and len(run.checkpoints) == 2)
    assert run.stop(0).reason.startswith("stopped on request; its last checkpoint is at step 20 (")


def test_a_worker_that_does_not_is_killed_after_the_grace_period(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "hang", grace_seconds=0.3))
    begun = time.monotonic()
    run.stop()
    assert time.monotonic() - begun >= 0.3
    assert run.state == "cancelled"
    assert "stopped on request (it had not ended 0.3 s after the request and was killed" in run.reason
    assert run.outcome is not None and (run.outcome.stopped_by, run.outcome.signal) == ("SIGKILL", 9)
    assert not marked_processes(run.path)


def test_nothing_of_a_killed_run_stays_in_memory_or_in_temporary_folders(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "hold_shared_memory", grace_seconds=0.2))
    started = json.loads(run.folder.telemetry_path.read_text().splitlines()[0])["payload"]
    segment, file = Path("/dev/shm", started["segment"]), Path(started["file"])
    assert segment.exists() and file.exists()
    run.stop()
    assert run.outcome is not None and run.outcome.stopped_by == "SIGKILL"
    assert not segment.exists()
    assert not file.parent.exists()


def test_stopping_twice_and_after_the_end(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    run.stop()
    before = run.folder.state_path.read_bytes()
    run.stop()
    run.stop(0)
    assert run.folder.state_path.read_bytes() == before
    ended = start_peer(supervisor, "train").wait(30)
    assert ended.stop().state == "completed"
    with pytest.raises(RunFailed):
        start_peer(supervisor, "fail").wait(30).stop()


def test_many_stops_at_once(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "hang", grace_seconds=0.5))
    threads = [threading.Thread(target=Run(run.path).stop) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert run.state == "cancelled"
    assert not run.alive


def test_a_second_stop_may_be_less_patient(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "hang", grace_seconds=600))
    run.stop(wait=False)
    wait_until(lambda: run.state == "stopping")
    assert run.stop(0).state == "cancelled"
    assert run.outcome is not None and run.outcome.stopped_by == "SIGKILL"


def test_stopping_right_after_the_start(supervisor: Supervisor) -> None:
    """The run may be queued, between fork and exec, or importing."""
    for _ in range(5):
        run = start_peer(supervisor, "train", total_timesteps=10**6, grace_seconds=5)
        assert run.stop().state == "cancelled"
    run = start_peer(supervisor, "silent", grace_seconds=5)
    wait_until(lambda: run.state == "starting")
    assert run.stop().state == "cancelled"


def test_stopping_a_queued_run(tmp_path: Path) -> None:
    with store(tmp_path / "runs", max_running=1) as supervisor:
        first, second = (start_peer(supervisor, "hang", grace_seconds=0) for _ in range(2))
        at_work(first)
        wait_until(lambda: "waits for a free slot" in second.reason)
        assert second.stop().reason == "stopped before it started (stopped on request)"
        assert second.outcome is not None and second.outcome.exit_code is None
        assert second.metrics().empty
        assert first.alive


def test_a_stop_file_alone_is_enough(supervisor: Supervisor) -> None:
    """A process that cannot send the signal (on another host, in another container) can stop a run."""
    run = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    run.folder.stop_path.write_text(json.dumps({"grace_seconds": 5}))
    assert run.wait(30).state == "cancelled"


def test_a_signal_to_the_keeper_stops_too_and_is_distinguished(supervisor: Supervisor) -> None:
    """A shutdown of the machine sends this signal."""
    run = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    psutil.Process(run.status.keeper_pid).terminate()
    run.wait(30)
    assert run.reason.startswith("stopped by a signal to its keeper")


def test_a_signal_to_the_worker_that_was_not_ours(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    psutil.Process(run.status.worker_pid).terminate()
    assert run.wait(30).state == "cancelled"
    assert "from outside MOSAIC Lab" in run.reason


def test_a_pid_that_was_given_to_another_process_is_left_alone(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "train").wait(30)
    wait_until(lambda: not run.folder.alive())
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as stranger:
        status = run.folder.document(run.folder.state_path)
        status |= {
            "state": "running",
            "keeper_pid": stranger.pid,
            "worker_pid": stranger.pid,
            "place": place(),
        }
        run.folder.state_path.write_text(json.dumps(status))
        assert run.state == "lost"
        assert not run.alive
        run.stop(0)
        assert stranger.poll() is None
        stranger.kill()


def test_a_live_run_whose_record_names_a_stranger_signals_no_other_process(supervisor: Supervisor) -> None:
    run = at_work(start_peer(supervisor, "train", total_timesteps=10**6))
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as stranger:
        status = run.folder.document(run.folder.state_path)
        run.folder.state_path.write_text(json.dumps(status | {"keeper_pid": stranger.pid}))
        assert run.stop().state == "cancelled"
        assert stranger.poll() is None
        stranger.kill()


def test_a_suspended_keeper_or_worker_is_woken_and_stopped(supervisor: Supervisor) -> None:
    runs = [at_work(start_peer(supervisor, "train", total_timesteps=10**6)) for _ in range(2)]
    for pid in (runs[0].status.keeper_pid, runs[1].status.worker_pid):
        psutil.Process(pid).suspend()
    assert runs[0].stop(0).state == runs[1].stop().state == "cancelled"
    assert runs[1].reason == "stopped on request", "the woken worker obeyed SIGTERM"


def test_a_group_is_stopped_together(supervisor: Supervisor) -> None:
    group = RunGroup(
        at_work(start_peer(supervisor, "hang", grace_seconds=0.5, seed=seed)) for seed in range(3)
    )
    begun = time.monotonic()
    assert set(group.stop().states.values()) == {State.CANCELLED}
    assert time.monotonic() - begun < 3 * (0.5 + 2.5)  # concurrently, not one after the other
