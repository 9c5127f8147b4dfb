"""Runs on a real Ray cluster: everything in ``on_ray``, inside a network namespace."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from mosaic_lab.cli import main
from mosaic_lab.workers import WorkerEnvironment

HERE = Path(__file__).parent
_ENTER = ["unshare", "--net", "--pid", "--map-root-user", "--fork", "--mount-proc", "--kill-child"]
_WHEELS = ["uv", "platformdirs", "psutil"]
_OF_THE_SCRIPT_WORKER = ["hatchling>=1.27", "tensorboard==2.21.0", "setuptools==80.10.2"]


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of what nodes without a network install."""
    folder = tmp_path_factory.mktemp("wheels")
    ours = [f"{name}=={version(name)}" for name in _WHEELS]
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(folder)]
    subprocess.run([*download, *ours, *_OF_THE_SCRIPT_WORKER], check=True, timeout=300)
    return folder


def test_a_cluster_that_does_not_answer(mosaic_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["clusters", "check", "ray:127.0.0.1:1"]) == 1  # it builds the bridge's environment first
    assert "(127.0.0.1:1): nothing answers at 127.0.0.1:1" in capfd.readouterr().err


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder for temporary files: Ray makes sockets in it, whose paths are bounded."""
    with tempfile.TemporaryDirectory(prefix="mosaic-ray-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("which", ["not extended", pytest.param("extended", marks=pytest.mark.extended)])
def test_on_a_cluster(
    which: str,
    mosaic_home: Path,
    wheels: Path,
    tmp_path: Path,
    short_folder: Path,
    cleanrl_environment: WorkerEnvironment,
) -> None:
    main(["workers", "install", "script"])
    main(["clusters", "check", "ray:127.0.0.1:1"])
    inside = {"MOSAIC_TEST_NAMESPACE": "1", "MOSAIC_TEST_WHEELS": str(wheels), "TMPDIR": str(short_folder)}
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    tests = [
        sys.executable,
        "-m",
        "pytest",
        str(HERE / "on_ray"),
        "--quiet",
        "-p",
        "no:cacheprovider",
        "-rA",
        "-m",
        which,
    ]
    done = subprocess.run(
        [*_ENTER, "sh", "-c", f"{shlex.join([*tests, f'--basetemp={tmp_path}/tests'])}; exit $?"],  # sh reaps
        env={**outside, **inside},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    print(done.stdout)
    assert done.returncode == 0
