"""The example notebooks, each executed once per session for all tests that read its outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mosaic_lab import notebooks
from mosaic_lab.cli.demo import EXECUTED, NOTEBOOK, examples_folder

Executed = Callable[[str], Path]

TOOLS = Path(sys.executable).parent


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory, cleanrl_environment: object) -> tuple[Path, str]:
    """Folder and printed output of one real demo, which executes the first notebook."""
    folder = tmp_path_factory.mktemp("demo")
    done = subprocess.run(
        [TOOLS / "mosaic-lab", "demo", "--dir", "out"],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out", done.stdout


@pytest.fixture(scope="session")
def executed(
    tmp_path_factory: pytest.TempPathFactory, cleanrl_environment: object, request: pytest.FixtureRequest
) -> Executed:
    """A function that returns the executed copy of a notebook by its name."""
    done: dict[str, Path] = {}

    def execute(name: str) -> Path:
        if name == NOTEBOOK:
            return Path(request.getfixturevalue("demo")[0] / EXECUTED)
        if name not in done:
            target = tmp_path_factory.mktemp("examples") / name
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("PATH", f"{TOOLS}{os.pathsep}{os.environ['PATH']}")  # cells may call mosaic-lab
                notebooks.execute(examples_folder() / name, target)
            done[name] = target
        return done[name]

    return execute
