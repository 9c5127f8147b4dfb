"""Upstream without its compiler."""

import pytest
from arenas.arena_lane import INTERPRETED


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upstream's functions run as Python: to compile them takes longer than the few steps of a test."""
    monkeypatch.setenv(INTERPRETED, "1")
