"""Frame rings: a run's shared memory is removed however the run ends, and never while it is alive."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import mosaic_contract
import pytest
from mosaic_contract.fastlane import LINK
from support import marked_processes, start_painter, start_peer, wait_until

from mosaic_lab.runs import Run, Supervisor


def publishing(run: Run) -> Path:
    """Wait until the run has published frames and return its ring."""
    wait_until(lambda: run.metrics("published")["value"].max() > 0)
    ring = (run.path / LINK).resolve()
    assert ring.exists()
    return ring


def worker_pid(run: Run) -> int:
    pid = run.status.worker_pid
    assert pid is not None
    return pid


def keeper_pid(run: Run) -> int:
    pid = run.status.keeper_pid
    assert pid is not None
    return pid


@pytest.mark.parametrize(
    "end",
    [
        lambda run: run.stop(),
        lambda run: run.stop(0),
        lambda run: os.kill(worker_pid(run), signal.SIGKILL),
        lambda run: os.kill(worker_pid(run), signal.SIGSEGV),
    ],
    ids=["stopped", "stopped at once", "killed", "crashed"],
)
def test_an_ended_run_has_no_shared_memory_and_others_keep_theirs(
    supervisor: Supervisor, end: Callable[[Run], object]
) -> None:
    other, run = start_painter(supervisor, free=True), start_painter(supervisor, free=True)
    theirs, ring = publishing(other), publishing(run)
    end(run)
    wait_until(lambda: run.finished)
    assert not ring.exists()
    assert not (run.path / LINK).is_symlink()
    assert theirs.exists()
    assert (other.path / LINK).resolve() == theirs


def test_what_a_killed_keeper_and_its_worker_left_goes_when_a_kernel_starts(supervisor: Supervisor) -> None:
    other, run = start_painter(supervisor, free=True), start_painter(supervisor, free=True)
    theirs, ring = publishing(other), publishing(run)
    os.kill(keeper_pid(run), signal.SIGSTOP)
    os.kill(worker_pid(run), signal.SIGKILL)
    os.kill(keeper_pid(run), signal.SIGKILL)
    wait_until(lambda: run.state == "lost" and not marked_processes(run.path))
    # an exiting process keeps its lock for a moment after `marked_processes` last lists it
    wait_until(lambda: Supervisor(supervisor.store.root) and not ring.exists())
    assert theirs.exists()


def test_stopping_what_is_left_of_a_lost_run_frees_its_memory(supervisor: Supervisor) -> None:
    run = start_painter(supervisor, free=True)
    ring = publishing(run)
    os.kill(worker_pid(run), signal.SIGSTOP)  # so that it outlives its keeper
    os.kill(keeper_pid(run), signal.SIGKILL)
    wait_until(lambda: run.state == "lost")
    Supervisor(supervisor.store.root)
    assert ring.exists()  # its writer is still alive
    run.stop(0.1)
    assert not marked_processes(run.path)
    assert not ring.exists()
    assert not (run.path / LINK).is_symlink()


def test_a_keeper_that_finds_no_contract_records_the_outcome_all_the_same(
    supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mosaic_contract, "__file__", str(tmp_path / "mosaic_contract" / "__init__.py"))
    run = start_peer(supervisor, "train").wait(30)
    assert run.state == "completed"
