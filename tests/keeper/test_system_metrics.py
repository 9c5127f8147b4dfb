"""System metrics: the keeper measures a run's CPU, memory, disk and GPUs; they read like other metrics."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from mosaic_contract.heartbeat import usage_of_tree
from support import start_peer, store, wait_until

from mosaic_lab.keeper import orphans, processes
from mosaic_lab.keeper.run_store import RunFolder
from mosaic_lab.keeper.system_metrics import DiskUse, SystemMetrics
from mosaic_lab.runs import Run, Supervisor
from mosaic_lab.telemetry import RunFeed


def last(run: Run, name: str) -> float | None:
    values = run.metrics(f"system/{name}")["value"]
    return float(values.iloc[-1]) if len(values) else None


def test_processor_memory_and_disk_of_all_of_a_runs_processes(supervisor: Supervisor, tmp_path: Path) -> None:
    run = start_peer(supervisor, "work_hard", hold=str(tmp_path / "hold"), go=str(tmp_path / "go"))
    wait_until((tmp_path / "hold").exists)  # the worker and its child hold 100 MiB each, and a file of 8 MiB
    wait_until(lambda: (last(run, "memory_mb") or 0) > 200)
    wait_until(lambda: (last(run, "disk_mb") or 0) > 8)
    wait_until(lambda: run.metrics("system/cpu_percent")["value"].max() > 5)
    assert last(run, "memory_mb") < 400 and last(run, "disk_mb") < 10
    points = run.metrics()
    assert set(points["name"]) == {"value", "system/cpu_percent", "system/memory_mb", "system/disk_mb"}
    assert points["name"].iloc[0] == "value"  # the worker's metrics come first
    system = points[points["name"].str.startswith("system/")]
    assert system["step"].max() == 3  # the newest step that the worker reported
    assert system["timestamp"].is_monotonic_increasing
    assert not any("system/" in line for line in run.folder.telemetry_path.read_text().splitlines())
    (tmp_path / "go").touch()
    run.wait(30)
    feed = RunFeed(run.path)
    feed.poll()
    [piece] = feed.pieces("system/memory_mb")
    assert len(piece.value) == len(run.metrics("system/memory_mb")) and (piece.seconds >= 0).all()
    assert feed.step == 3 and feed.health.lines == len(run.folder.telemetry_path.read_text().splitlines())


def test_memory_is_in_mib_whoever_measures_it() -> None:
    """Three measurements of the same process, the only child of a shell, agree."""
    program = "import os; data = b'x' * (64 << 20); print(os.getpid(), flush=True); input()"
    command = ["sh", "-c", '"$0" -c "$1"; true', sys.executable, program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as shell:
        assert shell.stdin is not None and shell.stdout is not None
        pid = int(shell.stdout.readline())  # from here on it waits and its memory is constant
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        mib = pytest.approx(pages * resource.getpagesize() / 2**20, rel=0.01)
        assert usage_of_tree(pid).memory_mb == mib, "a worker's heartbeat"
        below = processes.usage_below(shell.pid, without=())
        assert below is not None and below.memory_mb == mib, "the keeper"
        assert orphans.resident_mb([psutil.Process(pid)]) == mib, "the kernel, for a run without a keeper"
        shell.stdin.close()


def test_a_run_of_an_instant_has_its_size_and_processor_time(supervisor: Supervisor) -> None:
    run = start_peer(supervisor, "train", total_timesteps=1).wait(30)
    assert last(run, "disk_mb") > 0 and last(run, "cpu_percent") > 0


def nvidia_smi(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    """Put an nvidia-smi on PATH that lists two GPUs and runs ``answer`` when queried for their load."""
    program = folder / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        'test "$1" = "--query-gpu=index,uuid,name,memory.total" '
        '&& exec printf "0, GPU-aaaa, NVIDIA A, 8 MiB\\n1, GPU-bbbb, NVIDIA B, 9 MiB\\n"\n'
        'test "$*" = "--query-gpu=index,utilization.gpu,memory.used '
        '--format=csv,noheader,nounits" || exit 2\n'
        f"echo $$ >> {folder}/queries\n{answer}\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Supervisor]:
    with store(tmp_path / "runs") as supervisor:
        yield supervisor


def test_the_gpus_of_a_run_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: Supervisor
) -> None:
    nvidia_smi(tmp_path, monkeypatch, r"printf '0, 37, 1523\n1, [N/A], 40517\n'")
    without = start_peer(runs, "hang", grace_seconds=0)
    wait_until(lambda: last(without, "memory_mb"))
    assert not (tmp_path / "queries").exists()  # nvidia-smi is not called for a run without GPUs
    both = start_peer(runs, "hang", gpus=2, grace_seconds=0)
    wait_until(lambda: last(both, "gpu1_memory_mb"))
    assert (last(both, "gpu0_percent"), last(both, "gpu0_memory_mb")) == (37, 1523)
    assert (last(both, "gpu1_percent"), last(both, "gpu1_memory_mb")) == (None, 40517)
    both.stop()
    second = start_peer(runs, "hang", gpus=[1], grace_seconds=0)
    wait_until(lambda: last(second, "gpu1_memory_mb"))
    assert last(second, "gpu0_memory_mb") is None
    assert second.stop().outcome.leftovers == 0


def test_a_driver_that_hangs_delays_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: Supervisor
) -> None:
    nvidia_smi(tmp_path, monkeypatch, "exec sleep 600")
    run = start_peer(runs, "hang", gpus=1, grace_seconds=0)
    queries = tmp_path / "queries"
    wait_until(lambda: queries.exists() and queries.read_text().endswith("\n"))
    query = int(queries.read_text().split()[0])
    wait_until(lambda: len(run.metrics("system/memory_mb")) > 1)  # the other measurements continue
    run.stop()
    wait_until(lambda: processes.start_time(query) is None)  # the hanging query is ended
    assert run.outcome.leftovers == 0
    assert "system/gpu0_percent" not in set(run.metrics()["name"])


def test_what_cannot_be_measured_or_written_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without /proc, with a failing nvidia-smi, and with no space for another complete line."""
    nvidia_smi(tmp_path, monkeypatch, "echo 'NVIDIA-SMI has failed' ; exit 9")
    folder = RunFolder(tmp_path)
    worker = SimpleNamespace(started=time.monotonic(), helpers=set(), cpu_seconds=0.0, measure=lambda: None)
    system = SystemMetrics(worker, [0])  # type: ignore[arg-type]
    wait_until(lambda: system.look(folder) or system.missed == 2)  # both /proc and nvidia-smi failed
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (folder.system_path.stat().st_size + 100, limits[1]))
    try:
        system.finish(folder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    system.finish(folder)
    lines = [json.loads(line)["payload"] for line in folder.system_path.read_text().splitlines()]
    assert len(lines) == 2 and lines[-1]["missed"] == 3
    assert all(set(line["values"]) == {"system/disk_mb"} for line in lines)
    feed = RunFeed(tmp_path)
    folder.telemetry_path.write_text('{"event": "heartbeat", "timestamp": 1, "payload": {}}\n')
    feed.poll()
    assert feed.health.missed_by_keeper == 3
    os.waitpid(worker.helpers.pop(), 0)


def test_a_folder_of_many_files_is_measured_in_slices(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / str(number)).write_bytes(b"x" * 4096)
    (tmp_path / "around").symlink_to(tmp_path)
    use = DiskUse()
    use.begin(tmp_path)
    assert use.look(seconds=0) == {}
    found = wait_until(lambda: use.look(seconds=0))
    assert 50 * 4 / 1024 <= found["disk_mb"] < 1
