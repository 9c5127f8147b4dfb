"""A worker environment that is built for real in a second: a third party's shim on the contract."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from worker_fixtures import write_shim

from mosaic_lab import workers


@pytest.fixture(scope="module")
def toy() -> Iterator[Path]:
    """The worker "toy" (algorithm "walk", hyperparameter learning_rate), installed; its shim's folder."""
    home = Path(tempfile.mkdtemp(prefix="mosaic-toy-"))
    before = os.environ.get("MOSAIC_LAB_HOME")
    os.environ["MOSAIC_LAB_HOME"] = str(home / "home")
    try:
        shim = write_shim(home / "shim")
        workers.install(shim)
        yield shim
    finally:
        del os.environ["MOSAIC_LAB_HOME"]
        if before is not None:
            os.environ["MOSAIC_LAB_HOME"] = before
        shutil.rmtree(home)
