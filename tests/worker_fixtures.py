"""Worker environments for tests: one home for the real workers, and one for each small worker.

``cleanrl_environment`` builds the real CleanRL worker once per session; every process that a test starts
finds it, since ``MOSAIC_LAB_HOME`` names one temporary folder for the session (or the user's choice).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mosaic_lab import workers
from mosaic_lab.workers import WorkerEnvironment


@pytest.fixture(scope="session", autouse=True)
def mosaic_home(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The home of this test session's worker environments, shared by all of its processes.

    Quick tests have no home: building an environment fails. Child processes may write .pyc files, since
    compiling JupyterLab or PyTorch in each kernel and training would take seconds.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if request.config.option.markexpr == "quick":
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MOSAIC_LAB_HOME", os.devnull)
            yield Path(os.devnull)
        return
    if chosen := os.environ.get("MOSAIC_LAB_HOME"):
        yield Path(chosen)
        return
    several = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    home = (
        Path(tempfile.gettempdir(), f"mosaic-home-{several}")
        if several
        else Path(tempfile.mkdtemp(prefix="mosaic-home-"))
    )
    home.mkdir(exist_ok=True)
    os.environ["MOSAIC_LAB_HOME"] = str(home)
    with (home / ".tests").open("w") as used:
        fcntl.flock(used, fcntl.LOCK_SH)
        yield home
        del os.environ["MOSAIC_LAB_HOME"]
        with suppress(BlockingIOError):  # another process of the session still uses the home
            fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def cleanrl_environment(mosaic_home: Path) -> WorkerEnvironment:
    """The CleanRL worker's real environment, built from the default source once per session."""
    return workers.ensure("cleanrl")


@pytest.fixture(scope="module")
def cinema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the worker "cinema", which trains, acts and renders instantly; the policy of its nth
    checkpoint has the return 6 * n."""
    family = Path(__file__).with_name("peers") / "cinema_family"
    yield from home_with("cinema", lambda _: family, tmp_path_factory)


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for a single test."""
    home = tmp_path / "home"
    monkeypatch.setenv("MOSAIC_LAB_HOME", str(home))
    return home


def home_with(worker: str, write: Callable[[Path], Path], factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield a home with this worker, for a fixture to yield from; its tests must not change the home.

    The home is built once per session for all processes. ``write`` returns the shim's folder; it may create
    the shim in the folder that it receives.
    """
    base = factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / f"home-{worker}"
    home.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOSAIC_LAB_HOME", str(home))
        with (home / ".building").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (home / ".built").exists():
                workers.install(write(home / "shim"))
                (home / ".built").touch()
        yield home


def write_upstream(folder: Path, version: str = "1.0", *, requires_python: str = ">=3.7,<3.9") -> Path:
    """Write a small upstream library that requires an old Python and a dependency that does not exist."""
    package = folder / "toylib"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text(f"VERSION = {version!r}\n")
    (folder / "pyproject.toml").write_text(
        textwrap.dedent(f"""
        [build-system]
        requires = ["hatchling"]
        build-backend = "hatchling.build"
        [project]
        name = "toylib"
        version = "{version}"
        requires-python = "{requires_python}"
        dependencies = ["no-such-package-anywhere==9"]
        """)
    )
    return folder


def write_shim(
    folder: Path,
    name: str = "toy",
    *,
    dependencies: list[str] | None = None,
    settings: str = "",
    extras: str = "",
    learning_rate: float = 0.5,
) -> Path:
    """Write a third party's worker, pure Python on the contract: it walks, reports, saves nothing and obeys
    SIGTERM.

    ``settings`` is the text from ``[tool.mosaic-lab]`` on, ``extras`` that of the optional dependencies.
    """
    package = folder / f"{name}_worker"
    package.mkdir(parents=True, exist_ok=True)
    required = ["mosaic-contract", *(dependencies or [])]
    (folder / "pyproject.toml").write_text(
        textwrap.dedent(f"""
        [build-system]
        requires = ["hatchling"]
        build-backend = "hatchling.build"
        [project]
        name = "somebody-{name}-worker"
        version = "0.1"
        description = "A walk, for tests."
        dependencies = {required}
        [project.entry-points."mosaic.workers"]
        {name} = "{name}_worker:get_worker_metadata"
        [tool.hatch.build.targets.wheel]
        packages = ["{name}_worker"]
        """)
        + f"[project.optional-dependencies]\n{extras}\n{settings}"
    )
    (package / "__init__.py").write_text(_METADATA.format(name=name))
    (package / "cli.py").write_text(_CLI.format(name=name, learning_rate=learning_rate))
    (package / "conformance.json").write_text(_CONFORMANCE)
    return folder


_METADATA = """
from importlib import metadata
from mosaic_contract.metadata import WorkerCapabilities, WorkerMetadata

def get_worker_metadata():
    try:
        version = metadata.version("toylib")
    except metadata.PackageNotFoundError:
        version = ""
    about = WorkerMetadata(
        "{name}", "0.1", description="A walk.", upstream_library="toylib", upstream_version=version
    )
    return about, WorkerCapabilities(algorithms=["walk"])
"""

_CLI = """
import sys
import time
from mosaic_contract import Worker, main
from mosaic_contract.hyperparameters import Parameter, check_hyperparameters
from {name}_worker import get_worker_metadata

KNOWN = {{
    "learning_rate": Parameter(
        "learning_rate", float, {learning_rate}, "length of a step", maximum=10, exclusive_minimum=0
    )
}}

def resolve(config):
    return config.to_dict(check_hyperparameters(config.hyperparameters, KNOWN))

def train(config, telemetry):
    for step in range(config.total_timesteps):
        telemetry.metrics(step, {{"height": step * config.hyperparameters["learning_rate"]}})
        time.sleep(0.001)
    return {{"height": float(config.total_timesteps)}}

if __name__ == "__main__":
    worker = Worker(get_worker_metadata, resolve, train, lambda: {{"walk": list(KNOWN.values())}})
    sys.exit(main(worker))
"""

_CONFORMANCE = """
{"tiny": {"algorithm": "walk", "env_id": "Hill-v0", "seed": 1, "total_timesteps": 20},
 "long": {"total_timesteps": 1000000}}
"""
