"""The worker in the environment that runs the tests, where users have it too."""

from __future__ import annotations

import pytest

from mosaic_lab import workers
from mosaic_lab.workers import Environment


@pytest.fixture
def worker() -> Environment:
    return workers.ensure("policy")
