"""Fixtures: a fake language server per module, its key, and an evaluation played against it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from language.frozen_lake import KEY, LAKE, model
from language.language_calls import KEY_VARIABLE
from language.language_fixtures import FakeServer
from support import store

from mosaic_lab import operators
from mosaic_lab.evaluation import Evaluation
from mosaic_lab.evaluation.launch import evaluate
from mosaic_lab.evaluation.request import EvaluateRequest


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    one = FakeServer()
    yield one
    one.close()


@pytest.fixture
def server_key(monkeypatch: pytest.MonkeyPatch) -> str:
    """Name of the environment variable with the server's key."""
    monkeypatch.setenv(KEY_VARIABLE, FakeServer.key)
    return KEY_VARIABLE


@pytest.fixture
def lake_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the key of `frozen_lake.model`."""
    monkeypatch.setenv(KEY, FakeServer.key)


@pytest.fixture(scope="module")
def played(server: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evaluation]:
    """Evaluation of a language model and a random operator on two seeds."""
    with pytest.MonkeyPatch.context() as patch, store(tmp_path_factory.mktemp("lake") / "runs") as supervisor:
        patch.setenv(KEY, server.key)
        both = {"LLM": model(server), "random": operators.random()}
        request = EvaluateRequest(operators=both, seeds=[3, 4], parallel=2, record="observations", **LAKE)
        yield evaluate(supervisor, request).wait(240)
