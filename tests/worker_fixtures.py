"""Worker environments for tests: a home for the real workers, and one for each small one.

``cleanrl_environment`` builds the real CleanRL worker once a session; every process that a test starts finds
it, since ``MOSAIC_LAB_HOME`` names one temporary folder for the whole session (or the user's choice).
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
    """The home of all worker environments of this test session, in all of its processes.

    Quick tests have none: one that builds an environment fails. What the tests start may keep compiled files:
    to compile JupyterLab or PyTorch in each kernel and each training takes seconds.
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
        with suppress(BlockingIOError):  # another process of the session continues
            fcntl.flock(used, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def cleanrl_environment(mosaic_home: Path) -> WorkerEnvironment:
    """The CleanRL worker's environment, built for real from the default source, once a session."""
    return workers.ensure("cleanrl")


@pytest.fixture(scope="module")
def cinema(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A home with the worker "cinema", which trains, acts and draws in an instant; the policy of its nth
    checkpoint has the return 6 * n."""
    family = Path(__file__).with_name("peers") / "cinema_family"
    yield from home_with("cinema", lambda _: family, tmp_path_factory)


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home for one test."""
    home = tmp_path / "home"
    monkeypatch.setenv("MOSAIC_LAB_HOME", str(home))
    return home


def home_with(worker: str, write: Callable[[Path], Path], factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Use a home with this worker, in the fixture that yields from this; its tests do not change the home.

    It is built once a session for all processes. ``write`` returns the folder of the shim, for which it may
    write into the folder that it is given.
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
    """A small upstream library: it requires an old Python and a dependency that does not exist."""
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
    """A third party's worker, pure Python on the contract: it walks, reports, saves nothing and obeys
    SIGTERM.

    ``settings`` is the text of ``[tool.mosaic-lab]`` and below, ``extras`` that of the optional dependencies.
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
