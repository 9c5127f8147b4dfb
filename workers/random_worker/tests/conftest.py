"""The worker in an environment of its own, built once a session as users build it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from operators.conversation import Conversation
from worker_fixtures import mosaic_home  # noqa: F401  (environments of a session live in a folder of its own)

from mosaic_lab import workers
from mosaic_lab.workers import Environment


@pytest.fixture(scope="session")
def worker(mosaic_home: Path) -> Environment:  # noqa: F811
    return workers.ensure("random")


@pytest.fixture
def talk(worker: Environment) -> Iterator[Conversation]:
    """A conversation with the operators of one process."""
    with Conversation(worker.command()) as conversation:
        yield conversation
