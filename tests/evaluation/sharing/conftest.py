"""An honest bundle, which the tests forge."""

from __future__ import annotations

import zipfile

import pytest
from evaluation.sharing.forged_bundles import Members
from support import store

from mosaic_lab import operators
from mosaic_lab.evaluation.launch import evaluate
from mosaic_lab.evaluation.request import EvaluateRequest


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Members:
    """The files of an honest bundle, but for its manifest."""
    folder = tmp_path_factory.mktemp("honest")
    with store(folder / "runs") as supervisor:
        both = {"random": operators.random(), "still": operators.passive()}
        request = EvaluateRequest(env="CartPole-v1", operators=both, seeds=[1, 2], parallel=1)
        evaluation = evaluate(supervisor, request).wait(120)
        with zipfile.ZipFile(evaluation.bundle(folder / "honest.zip")) as honest:
            return {name: honest.read(name) for name in honest.namelist()}
