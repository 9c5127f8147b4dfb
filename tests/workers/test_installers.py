"""Concurrent installers and installers killed half-way: a half-built environment is never used."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from support import let_sigint_through
from worker_fixtures import write_shim, write_upstream

from mosaic_lab import workers

INSTALLER = """
import sys
from mosaic_lab import workers
print("environment", workers.install(sys.argv[1], progress=lambda line: print(line, flush=True)).root)
"""
UPSTREAM = "[tool.mosaic-lab]\nsources = ['here']\n[tool.mosaic-lab.source.here]\nupstream = 'toylib @ {}'\n"


def start_installer(shim: Path, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", INSTALLER, str(shim)],
        env={**os.environ, "MOSAIC_LAB_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=let_sigint_through,
    )


def shim_with_upstream(folder: Path) -> Path:
    upstream = write_upstream(folder / "upstream")
    return write_shim(
        folder / "shim", settings=UPSTREAM.format(upstream.as_uri()), extras="here = ['iniconfig==2.1.0']"
    )


def test_the_second_of_two_installers_waits_and_takes_what_the_first_built(
    tmp_path: Path, own_home: Path
) -> None:
    shim = shim_with_upstream(tmp_path)
    first = start_installer(shim, own_home)
    assert first.stdout is not None
    assert "worker 'toy' from here" in first.stdout.readline()  # the first installer holds the lock

    second = start_installer(shim, own_home)
    first_output, _ = first.communicate(timeout=120)
    second_output, _ = second.communicate(timeout=120)

    assert first.returncode == second.returncode == 0
    assert second_output.startswith("another installer is at work on worker 'toy'")
    assert "is installed already" in second_output
    assert first_output.splitlines()[-1] == second_output.splitlines()[-1]


def test_many_installers_at_once_end_with_one_environment(tmp_path: Path, own_home: Path) -> None:
    shim = shim_with_upstream(tmp_path)
    installers = [start_installer(shim, own_home) for _ in range(4)]

    last_lines = {installer.communicate(timeout=120)[0].splitlines()[-1] for installer in installers}

    assert len(last_lines) == 1 and [installer.returncode for installer in installers] == [0] * 4
    assert len([entry for entry in (own_home / "workers" / "toy").iterdir() if entry.is_dir()]) == 1


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.extended) for n in range(1, 8))])
def test_an_installer_killed_at_a_random_moment_leaves_nothing_that_is_used(
    tmp_path: Path, own_home: Path, seed: int
) -> None:
    shim = shim_with_upstream(tmp_path)
    installer = start_installer(shim, own_home)
    assert installer.stdout is not None
    assert "worker 'toy' from here" in installer.stdout.readline()
    time.sleep(random.Random(seed).uniform(0.0, 1.5))  # kill at a random moment
    installer.send_signal(signal.SIGKILL)
    installer.wait(timeout=10)

    found = workers.find("toy")
    if found is not None:  # the installer had finished
        assert workers.describe(found)["metadata"]["upstream_version"] == "1.0"
    environment = workers.install(shim)

    assert workers.describe(environment)["metadata"]["upstream_version"] == "1.0"
    assert workers.find("toy") == environment
    left = {entry.name for entry in (own_home / "workers" / "toy").iterdir()}
    assert left == {environment.root.parent.name, "environment.json", "description.json"}


def test_an_interrupted_installer_cleans_up_and_takes_uv_with_it(tmp_path: Path, own_home: Path) -> None:
    installer = start_installer(shim_with_upstream(tmp_path), own_home)
    assert installer.stdout is not None
    while "building" not in (line := installer.stdout.readline()):
        assert line, "the installer ended before it was interrupted"
    installer.send_signal(signal.SIGINT)
    output, _ = installer.communicate(timeout=30)

    assert "KeyboardInterrupt" in output and installer.returncode != 0
    assert workers.find("toy") is None
    assert list((own_home / "workers" / "toy").iterdir()) == []
    running = [" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])]
    assert not [command for command in running if str(own_home) in command]


@pytest.mark.extended
def test_a_refresh_that_was_killed_is_done_again(tmp_path: Path, own_home: Path) -> None:
    shim = write_shim(tmp_path / "shim")
    built = workers.install(shim)
    write_shim(shim, learning_rate=0.25)
    installer = start_installer(shim, own_home)
    assert installer.stdout is not None
    assert "its shim has changed" in installer.stdout.readline()
    while "resolved" not in (line := installer.stdout.readline()) and line:
        pass
    installer.send_signal(signal.SIGKILL)
    installer.wait(timeout=10)
    write_shim(shim)  # restores the sources; the environment may still differ

    environment = workers.ensure("toy")

    assert environment.root == built.root and not environment.outdated
    assert workers.describe(environment)["hyperparameters"]["walk"][0]["default"] == 0.5


def test_a_record_that_cannot_be_read_counts_as_none(tmp_path: Path, own_home: Path) -> None:
    shim = write_shim(tmp_path / "shim")
    workers.install(shim)
    (own_home / "workers" / "toy" / "environment.json").write_text('{"name": "toy", ')

    assert workers.find("toy") is None
    assert workers.describe(workers.install(shim))
