"""The worker in an environment of its own, built once a session as users build it."""

import pytest
from arenas.arena_lane import INTERPRETED
from shim_kit.fixtures import lab, lane, mosaic_home, worker_fixture  # noqa: F401

worker = worker_fixture("multigrid")


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream's functions run as Python: to compile them takes longer than the few steps of a test."""
    monkeypatch.setenv(INTERPRETED, "1")
