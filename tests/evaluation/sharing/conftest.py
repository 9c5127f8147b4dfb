"""An honest bundle, from which the tests make forged ones."""

from __future__ import annotations

import pytest
from evaluation.sharing.forged_bundles import Members, members_of
from support import store

from mosaic_lab import operators
from mosaic_lab.evaluation.launch import evaluate
from mosaic_lab.evaluation.request import EvaluateRequest


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Members:
    """The files of an honest bundle."""
    folder = tmp_path_factory.mktemp("honest")
    with store(folder / "runs") as supervisor:
        both = {"random": operators.random(), "still": operators.passive()}
        request = EvaluateRequest(env="CartPole-v1", operators=both, seeds=[1, 2], parallel=1)
        evaluation = evaluate(supervisor, request).wait(120)
        return members_of(evaluation.bundle(folder / "honest.zip"))
