"""Real notebook kernels: a kernel killed while a run trains, a restart, two kernels on one store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager
from support import PEER, marked_processes, wait_until

from mosaic_lab.runs import Supervisor


class Kernel:
    """A real ipykernel. ``run`` executes a cell and returns its printed output."""

    def __init__(self, folder: Path) -> None:
        self._manager = KernelManager(kernel_name="python3")
        self._manager.start_kernel(cwd=str(folder))
        self._client: BlockingKernelClient = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=60)

    def run(self, code: str) -> str:
        printed: list[str] = []

        def hear(message: dict[str, dict[str, str]]) -> None:
            if message["header"]["msg_type"] == "stream":
                printed.append(message["content"]["text"])

        reply = self._client.execute_interactive(code, output_hook=hear, timeout=60)
        assert reply["content"]["status"] == "ok", reply["content"]
        return "".join(printed)

    def kill(self) -> None:
        os.kill(int(self.run("import os; print(os.getpid())")), signal.SIGKILL)
        wait_until(lambda: not self._manager.is_alive())

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for run in Supervisor(tmp_path / "mosaic_runs").runs():
        run.stop(0)


@contextmanager
def kernel(folder: Path) -> Iterator[Kernel]:
    one = Kernel(folder)
    try:
        yield one
    finally:
        one.close()


def start(name: str, *, steps: int, folder: Path, max_running: int = 4) -> str:
    """Return a cell that starts a run, which trains for ``steps`` steps and waits for the file ``go``."""
    options = {"hold": str(folder / f"{name}-hold"), "go": str(folder / "go")}
    config: dict[str, object] = {"algorithm": "train", "env_id": name, "seed": 1, "total_timesteps": steps}
    config["hyperparameters"] = options
    return (
        "from mosaic_lab.runs import Supervisor\n"
        f"run = Supervisor(max_running={max_running}).start({PEER!r}, {config!r}, worker='peer')\n"
        "print(run.id)"
    )


def test_a_run_survives_a_killed_kernel_with_every_line(folder: Path) -> None:
    with kernel(folder) as first:
        run_id = first.run(start("survivor", steps=400, folder=folder)).strip()
        run = Supervisor(folder / "mosaic_runs").run(run_id)
        wait_until(lambda: (run.step or 0) > 10)
        first.kill()
    seen = len(run.metrics("value"))
    assert run.alive
    with kernel(folder) as second:
        notice = second.run("import mosaic_lab as mosaic\nlab = mosaic.Lab()")
        assert "1 run is still alive" in notice
        assert run_id in notice
        assert "of 400" in notice and " MB" in notice
        assert f'lab.run("{run_id}")` gets that run' in notice and "lab.stop_all() stops them all." in notice
        assert int(second.run(f"run = lab.run({run_id!r})\nprint(len(run.metrics('value')))")) >= seen
        (folder / "go").touch()
        state = second.run(
            "print(run.wait(60).state, list(run.metrics('value')['step']) == list(range(400)))"
        )
        assert state.strip() == "completed True"
        assert second.run("mosaic.Lab()").strip() == ""  # no run is alive, so no notice is printed


@pytest.mark.parametrize("milliseconds", [0, 5, 10, 20, 40, 80])
def test_a_kernel_killed_at_any_moment_of_a_start_leaves_no_doubt(folder: Path, milliseconds: int) -> None:
    """Afterwards the store has no run, a live one, or one that reports that it never started."""
    code = "import mosaic_lab.runs.supervisor, sys\nprint('up', flush=True)\nsys.stdin.readline()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", code + start("hasty", steps=10**6, folder=folder)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    process.stdout.readline()
    process.stdin.write(b"\n")
    process.stdin.flush()
    time.sleep(milliseconds / 1000)  # not a wait: varies the moment of the kill
    process.kill()
    process.communicate()
    for run in Supervisor(folder / "mosaic_runs").runs():
        wait_until(lambda run=run: run.state in ("lost", "running"))
        assert run.state == "running" or run.reason.startswith("it never started")
        assert run.stop().state in ("cancelled", "lost")
    assert not marked_processes(folder)


def test_two_kernels_on_one_store(folder: Path) -> None:
    """Both kernels list all runs, share one limit, and can stop each other's runs."""
    with kernel(folder) as one, kernel(folder) as two:
        ids = [
            kernel.run(start(name, steps=20, folder=folder, max_running=2)).strip()
            for kernel, name in ((one, "a"), (two, "b"), (one, "c"))
        ]
        listing = "import mosaic_lab as mosaic\nlab = mosaic.Lab()\nprint([run.id for run in lab.runs])"
        for either in (one, two):
            seen = either.run(listing)
            assert "3 runs are still alive" in seen
            assert str(ids) in seen
        runs = [Supervisor(folder / "mosaic_runs").run(run_id) for run_id in ids]
        wait_until(lambda: [run.state for run in runs] == ["running", "running", "queued"])
        two.run(f"print(lab.run({ids[0]!r}).stop().reason)")
        assert one.run(f"print(lab.run({ids[0]!r}).state)").strip() == "cancelled"
        wait_until(lambda: runs[2].state == "running")
        (folder / "go").touch()
        assert two.run(f"print(lab.run({ids[2]!r}).wait(60).state)").strip() == "completed"
