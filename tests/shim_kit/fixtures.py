"""Fixtures for the tests of one shim; `workers/conftest.py` imports them for all shims."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from arenas.arena_lane import ArenaLane
from mosaic_contract.conformance import check_worker, format_report
from operators.conversation import Conversation
from worker_fixtures import mosaic_home

import mosaic_lab as mosaic
from mosaic_lab import workers
from mosaic_lab.workers import WorkerEnvironment

from .training_worker import TrainingWorker, interpreter_of

__all__ = [
    "lab",
    "lane",
    "mosaic_home",
    "operators",
    "operators_of",
    "talk",
    "test_conformance",
    "training_worker_fixture",
    "worker",
]


@pytest.fixture
def worker(request: pytest.FixtureRequest, mosaic_home: Path) -> WorkerEnvironment:
    """The worker whose folder contains the test, in its own environment, built as users build it."""
    return _built(request.path.parents[1].name)


_built = functools.cache(workers.ensure)


def training_worker_fixture(
    name: str,
    small: Mapping[str, Mapping[str, Any]],
    always: Mapping[str, Any] | None = None,
    kind: type[TrainingWorker] = TrainingWorker,
) -> Any:
    """Return a session-scoped fixture for a worker that trains; see `TrainingWorker`."""

    @pytest.fixture(scope="session")
    def worker(mosaic_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrainingWorker]:
        with interpreter_of(name) as python:
            yield kind(name, python, tmp_path_factory.mktemp("runs"), small, always)

    return worker


@pytest.fixture
def talk(worker: WorkerEnvironment) -> Iterator[Conversation]:
    """A conversation with the operators of one process."""
    with Conversation(worker.command()) as conversation:
        yield conversation


@pytest.fixture
def lane(worker: WorkerEnvironment, tmp_path: Path) -> Iterator[ArenaLane]:
    """An arena of the worker's environments."""
    with ArenaLane(worker.command(), tmp_path / "lane") as arena:
        yield arena


@pytest.fixture
def lab(worker: WorkerEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mosaic.Lab:
    """A lab in ``tmp_path``, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    return mosaic.Lab(tmp_path / "mosaic_runs")


@pytest.fixture(scope="session")
def operators_of() -> Iterator[Callable[[TrainingWorker], Conversation]]:
    """A function that returns a worker's operator process, started once per session."""
    with ExitStack() as stack:
        yield functools.cache(lambda worker: stack.enter_context(worker.operators()))


@pytest.fixture
def operators(worker: TrainingWorker, operators_of: Callable[[TrainingWorker], Conversation]) -> Conversation:
    """The process in which the worker's operators act from their checkpoints."""
    return operators_of(worker)


def test_conformance(worker: Any) -> None:
    """The contract's conformance suite, imported by each shim's `test_standardization.py`."""
    assert_conforms(worker)


def assert_conforms(worker: Any, **options: Any) -> None:
    """Run the contract's conformance suite with a worker's interpreter."""
    results = check_worker(worker.name, python=str(worker.python), **options)
    assert all(result.passed for result in results), format_report(results)
