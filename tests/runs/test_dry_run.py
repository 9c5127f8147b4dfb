"""Dry run (the worker checks a configuration before its run starts): deadline, cleanup, errors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from support import PEER, wait_until

from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.runs import Supervisor
from mosaic_lab.runs.dry_run import dry_run


def test_a_dry_run_has_a_deadline() -> None:
    marker = f"marker = {time.monotonic_ns()}"
    code = f"{marker}; import time; time.sleep(600)"
    late = r"did not check the configuration in 0\.2 s, .* \(load average \d+\.\d on \d+ cores\): try again"
    with pytest.raises(MosaicError, match=late):
        dry_run([sys.executable, "-c", code], {}, {}, deadline=0.2)
    assert not [one for one in psutil.process_iter(["cmdline"]) if marker in str(one.info["cmdline"])]


def test_a_dry_run_ends_with_the_kernel_that_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dry run's child processes and folder go too. If its parent process is killed as well, the next
    kernel removes the folder, and leaves the folders of running dry runs alone."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    child = f"{deaf}; print(flush=True); time.sleep(600)"
    thinking = (
        "import os, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=-1, start_new_session=True)\n"
        "child.stdout.readline()\n"
        "print(os.getpid(), child.pid, flush=True)\n"
        "time.sleep(600)"
    )
    asking = "import sys; from mosaic_lab.runs.dry_run import dry_run\n"
    asking += "dry_run([sys.executable, '-c', sys.argv[1]], {}, {})"

    def ask() -> tuple[subprocess.Popen[bytes], list[psutil.Process], Path]:
        known = set(tmp_path.iterdir())
        environ = {**os.environ, "TMPDIR": str(tmp_path)}
        kernel = subprocess.Popen([sys.executable, "-c", asking, thinking], env=environ)
        (folder,) = wait_until(lambda: set(tmp_path.glob("mosaic-check-*")) - known)
        answer = folder / "telemetry.jsonl"
        wait_until(lambda: answer.exists() and answer.read_text().endswith("\n"))
        return kernel, [psutil.Process(int(pid)) for pid in answer.read_text().split()], folder

    kernel, processes, folder = ask()
    going_on = ask()
    kernel.kill()
    wait_until(lambda: not any(one.is_running() for one in processes) and not folder.exists())
    kernel.wait()

    unlucky, processes, folder = ask()
    for one in (processes[0].parent(), unlucky, *processes):
        assert one is not None
        one.kill()
    unlucky.wait()
    assert folder.exists()
    Supervisor(tmp_path / "runs")
    assert not folder.exists()
    kernel, processes, folder = going_on
    assert folder.exists() and all(one.is_running() for one in processes)
    kernel.kill()
    wait_until(lambda: not folder.exists())
    kernel.wait()


def test_a_worker_that_cannot_even_check_is_shown_with_its_log() -> None:
    with pytest.raises(MosaicError, match=r"(?s)exit code 1.*No module named 'no_such_library'"):
        dry_run([sys.executable, "-c", "import no_such_library"], {}, {})
    with pytest.raises(MosaicError, match="printed no configuration but 'hello"):
        dry_run([sys.executable, "-c", "print('hello')"], {}, {})
    with pytest.raises(MosaicError, match="could not be started"):
        dry_run(["/no/such/python"], {}, {})
    with pytest.raises(ConfigurationError, match="did you mean learning_rate"):
        dry_run(PEER, {"algorithm": "refuse", "total_timesteps": 1, "hyperparameters": {}}, {})
