"""The worker in an environment of its own, built once a session as users build it, and a place for runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from worker_fixtures import mosaic_home  # noqa: F401  (environments of a session live in a folder of its own)

import mosaic_lab as mosaic
from mosaic_lab import workers
from mosaic_lab.workers import Environment


@pytest.fixture(scope="session")
def worker(mosaic_home: Path) -> Environment:  # noqa: F811
    return workers.ensure("script")


@pytest.fixture
def lab(worker: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mosaic.Lab:
    """A lab whose user sits in ``tmp_path``."""
    monkeypatch.chdir(tmp_path)
    return mosaic.Lab(tmp_path / "mosaic_runs")
