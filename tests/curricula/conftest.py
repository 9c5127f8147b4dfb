"""The worker `hiker` and a store for the tests of curricula."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from curricula.staged_worker import hiker  # noqa: F401

import mosaic_lab as mosaic


@pytest.fixture
def lab(hiker: Path, tmp_path: Path) -> Iterator[mosaic.Lab]:  # noqa: F811
    lab = mosaic.Lab(tmp_path / "runs", max_running=4)
    yield lab
    lab.stop_all(grace=0)
