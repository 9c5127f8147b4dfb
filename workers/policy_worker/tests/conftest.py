"""The worker in the environment that runs the tests, where users have it too."""

from __future__ import annotations

import pytest

from mosaic_lab import environments
from mosaic_lab.environments import Environment


@pytest.fixture
def worker() -> Environment:
    return environments.ensure("policy")
