"""Fixtures shared by the benchmarks; all benchmarks belong to the extended tier."""

from pathlib import Path

import pytest
from benchmarks.own_chromium import chromium  # noqa: F401


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("extended")
