"""A real worker environment that is built in a second: a third party's shim on the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from worker_fixtures import home_with, write_shim


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The installed worker "toy" (algorithm "walk", hyperparameter learning_rate); yields its shim folder."""
    for home in home_with("toy", write_shim, tmp_path_factory):
        yield home / "shim"
