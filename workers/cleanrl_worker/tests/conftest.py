"""Trainings with the real upstream, each in its own process and run folder, shared by the tests.

`MOSAIC_TEST_CLEANRL_PYTHON` names an interpreter with the worker installed; by default, the worker's
environment is built once per session, as for users. `MOSAIC_TEST_CLEANRL_CHECKOUT` names a checkout of
upstream, with which every training test runs as well (`MOSAIC_TEST_CLEANRL_CHECKOUT_PYTHON`: an interpreter
with the checkout installed).
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from mosaic_contract.conformance.observed_process import ObservedProcess
from shim_kit.training_worker import Finished, TrainingWorker

DEFAULT, CHECKOUT = "default source", "checkout"
SOURCES = [DEFAULT, *([CHECKOUT] if os.environ.get("MOSAIC_TEST_CLEANRL_CHECKOUT") else [])]
SMALL: dict[str, dict[str, Any]] = {  # long enough for each algorithm to update its networks
    "ppo": {"env_id": "CartPole-v1", "total_timesteps": 2048},
    "ppo_continuous": {
        "env_id": "Pendulum-v1",
        "total_timesteps": 1024,
        "num_steps": 256,
        "num_envs": 2,
        "update_epochs": 2,
    },
    "dqn": {
        "env_id": "CartPole-v1",
        "total_timesteps": 600,
        "learning_starts": 400,
        "batch_size": 32,
        "seed": 0,
    },
    "c51": {"env_id": "CartPole-v1", "total_timesteps": 600, "learning_starts": 400, "batch_size": 32},
    "ddpg": {"env_id": "Pendulum-v1", "total_timesteps": 600, "learning_starts": 400, "batch_size": 32},
    "td3": {"env_id": "Pendulum-v1", "total_timesteps": 600, "learning_starts": 400, "batch_size": 32},
    "sac": {"env_id": "Pendulum-v1", "total_timesteps": 600, "learning_starts": 400, "batch_size": 32},
    "rpo": {"env_id": "Pendulum-v1", "total_timesteps": 512, "num_steps": 256},
    "pqn": {"env_id": "CartPole-v1", "total_timesteps": 1024},
    "frozen_lake": {
        "algorithm": "dqn",
        "env_id": "FrozenLake-v1",
        "total_timesteps": 300,
        "learning_starts": 100,
        "batch_size": 32,
    },
}
ONLY_CURRENT = ("ddpg", "rpo", "pqn")
"""Algorithms that the release of 2021 lacks, or cannot run."""
ONLY_RELEASE = ("frozen_lake",)
"""Algorithms that only the release of 2021 has."""
EXTENDED = ("c51", "td3")
"""Algorithms that differ little from others: their tests are `extended`."""


class CleanRLWorker(TrainingWorker):
    """Records the files that its trainings write outside their run folders."""

    @functools.cached_property
    def legacy(self) -> bool:
        """Whether upstream is the release of 2021."""
        resolved = self.resolved(algorithm="ppo", env_id="CartPole-v1")
        return bool(resolved["upstream"]["version"] == "0.4.8")

    def train(
        self, during: Callable[[ObservedProcess], object] = lambda trial: None, **config: Any
    ) -> Finished:
        outside = Path(tempfile.mkdtemp(dir=self.folder))
        with mock.patch.dict(os.environ, {"HOME": str(outside), "TMPDIR": str(outside)}):
            run = super().train(during, **config)
        run.outside = [str(found) for found in outside.rglob("*")]
        return run


@pytest.fixture(scope="session")
def cleanrl_python(mosaic_home: Path) -> str:
    """Interpreter with the worker and its default upstream."""
    if given := os.environ.get("MOSAIC_TEST_CLEANRL_PYTHON"):
        return given
    from mosaic_lab import workers

    return str(workers.ensure("cleanrl").python)


@pytest.fixture(scope="session")
def checkout_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Interpreter with the worker and a checkout of upstream."""
    if given := os.environ.get("MOSAIC_TEST_CLEANRL_CHECKOUT_PYTHON"):
        return given
    from mosaic_lab import workers

    home = tmp_path_factory.mktemp("checkout-home")
    with mock.patch.dict(os.environ, MOSAIC_LAB_HOME=str(home)):
        checkout = os.environ["MOSAIC_TEST_CLEANRL_CHECKOUT"]
        return str(workers.install("cleanrl", source=checkout).python)


@pytest.fixture(scope="session")
def workers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], CleanRLWorker]:
    """Return the worker for a source of upstream: one object per source and session."""

    @functools.cache
    def worker_with(source: str) -> CleanRLWorker:
        fixture = "cleanrl_python" if source == DEFAULT else "checkout_python"
        python, folder = request.getfixturevalue(fixture), tmp_path_factory.mktemp("runs")
        return CleanRLWorker("cleanrl", python, folder, SMALL)

    return worker_with


@pytest.fixture(params=SOURCES)
def worker(request: pytest.FixtureRequest, workers: Callable[[str], CleanRLWorker]) -> CleanRLWorker:
    """The worker, once for each source of upstream."""
    return workers(request.param)


@pytest.fixture(
    params=[
        pytest.param(
            (source, name), id=f"{source}-{name}", marks=pytest.mark.extended if name in EXTENDED else ()
        )
        for source in SOURCES
        for name in SMALL
        if name not in (*ONLY_CURRENT, *ONLY_RELEASE)
    ]
)
def finished(request: pytest.FixtureRequest, workers: Callable[[str], CleanRLWorker]) -> Finished:
    """A finished small training, for each algorithm that both upstreams can train."""
    source, algorithm = request.param
    return workers(source).trained(algorithm)
