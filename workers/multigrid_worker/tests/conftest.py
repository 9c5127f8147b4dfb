"""Run upstream without its compiler."""

import pytest
from arenas.arena_lane import INTERPRETED


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run upstream's functions as plain Python: compiling takes longer than a test's few steps."""
    monkeypatch.setenv(INTERPRETED, "1")
