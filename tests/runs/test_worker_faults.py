"""Misbehaving workers: each fault is named in the reason, leaves no process and disturbs no other run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import PEERS, at_work, marked_processes, start_peer, wait_until

from mosaic_lab.errors import RunFailed
from mosaic_lab.keeper.keeper import MAX_TELEMETRY
from mosaic_lab.runs import Run, Supervisor


@pytest.fixture
def bystander(supervisor: Supervisor, tmp_path: Path) -> Iterator[Run]:
    """Another run on the same store, which has to complete with every line of its telemetry."""
    meeting = {"hold": str(tmp_path / "bystander"), "go": str(tmp_path / "bystander-go")}
    run = at_work(start_peer(supervisor, "train", total_timesteps=200, **meeting))
    yield run
    (tmp_path / "bystander-go").touch()
    assert run.wait(60).state == "completed"
    assert list(run.metrics("value")["step"]) == list(range(200))


def failure(run: Run) -> str:
    with pytest.raises(RunFailed) as caught:
        run.wait(60)
    assert run.state == "failed"
    return str(caught.value)


@pytest.mark.usefixtures("bystander")
def test_it_exits_with_1(supervisor: Supervisor) -> None:
    text = failure(start_peer(supervisor, "exit_1"))
    assert "the worker exited without a final event with exit code 1" in text
    assert "something went wrong here" in text


@pytest.mark.usefixtures("bystander")
def test_it_is_killed_by_signal_9(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "killed")
    assert "killed by signal 9 (SIGKILL) from outside MOSAIC Lab" in failure(run)
    assert run.outcome is not None and (run.outcome.exit_code, run.outcome.signal) == (None, 9)
    assert len(run.metrics("value")) == 1


def test_it_crashes_in_c_code(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "killed", signal=int(signal.SIGSEGV))
    text = failure(run)
    assert "crashed with signal 11 (SIGSEGV)" in text
    assert "Fatal Python error: Segmentation fault" in text  # with the Python traceback, from faulthandler


@pytest.mark.usefixtures("bystander")
def test_it_fills_the_disk_with_telemetry(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "spill", grace_seconds=60)
    assert re.search(r"wrote [\d,]+ MB of telemetry in \d+ s and was killed before it filled", failure(run))
    assert run.folder.telemetry_path.stat().st_size > MAX_TELEMETRY
    shutil.rmtree(run.path)


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize("deaf", [False, True])
def test_it_leaves_grandchildren(supervisor: Supervisor, deaf: bool) -> None:
    """One is in the worker's process group, one in its own session; the keeper finds and ends both."""
    run = start_peer(supervisor, "leave_children", deaf=deaf).wait(60)
    assert not marked_processes(run.path)
    assert run.state == "completed"
    assert run.reason == "ran to the end; 2 processes that it left were ended"
    assert run.outcome is not None and run.outcome.leftovers == 2


@pytest.mark.parametrize("deaf", [False, True])
def test_it_has_grandchildren_when_it_is_stopped(supervisor: Supervisor, deaf: bool) -> None:
    run = at_work(start_peer(supervisor, "leave_children", stay=True, deaf=deaf, grace_seconds=1))
    run.stop()
    assert run.state == "cancelled"
    assert not marked_processes(run.path)


@pytest.mark.usefixtures("bystander")
def test_its_environment_is_removed_while_it_runs(supervisor: Supervisor, tmp_path: Path) -> None:
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = str(home / "bin" / "python")
    hold, go = tmp_path / "hold", tmp_path / "go"
    config = {
        "algorithm": "import_late",
        "seed": 1,
        "total_timesteps": 1,
        "hyperparameters": {"hold": str(hold), "go": str(go)},
    }
    run = supervisor.start([python, str(PEERS / "peer.py")], config, worker="peer")
    wait_until(hold.exists)
    shutil.rmtree(home)
    go.touch()
    text = failure(run)
    assert "No module named 'late_module'" in text
    assert len(run.metrics("value")) == 1
    again = supervisor.start([python, str(PEERS / "peer.py")], config, worker="peer")
    assert f"{python} does not exist (was the worker's environment removed? install it again)" in failure(
        again
    )


def memory_group(limit: int) -> Path | None:
    """Create a control group with a memory limit; None where this machine does not allow it."""
    for root, file in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = Path(root, f"mosaic-lab-test-{os.getpid()}")
        try:
            group.mkdir()
            (group / file).write_text(str(limit))
        except OSError:
            if group.exists():
                group.rmdir()
            continue
        return group
    return None


def test_it_is_killed_by_the_out_of_memory_killer(supervisor: Supervisor) -> None:
    """Keeper and worker run in a control group limited to 128 MiB, and the worker allocates more."""
    group = memory_group(128 << 20)
    if group is None:
        pytest.skip("no control group with a memory limit can be made here")
    code = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(PEERS.parent)!r})
from support import start_peer
from mosaic_lab.runs import Supervisor
Path({str(group)!r}, "cgroup.procs").write_text(str(os.getpid()))
print(start_peer(Supervisor({str(supervisor.store.root)!r}), "eat_memory").id)
"""
    try:
        started = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        run = supervisor.run(started.stdout.strip())
        text = failure(run)
        wait_until(lambda: not run.folder.alive())
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()
    assert "killed by signal 9 (SIGKILL) from outside MOSAIC Lab; out of memory: meanwhile" in text
    assert run.outcome is not None and run.outcome.peak_memory_mb is not None
    assert 64 < run.outcome.peak_memory_mb < 160
