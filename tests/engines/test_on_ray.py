"""Runs the tests in ``on_ray``, which use a real Ray cluster, inside a network namespace.

By default only the tests with scripts run, the others are `extended`; the files beside this simulate engines.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from engines.namespace import OLDER_RAY, download_wheels, run_inside

from mosaic_lab.cli import main
from mosaic_lab.engines import clusters
from mosaic_lab.engines.clusters import Cluster

_TESTS = Path(__file__).with_name("on_ray")
_SECONDS, _EXTENDED_SECONDS = 1200.0, 3000.0
_BUILDING = 900.0  # seconds to build the environments that the tests use
_FAMILIES = ("script", "gymnasium", "random", "cleanrl", "rllib", "tianshou", "xuance", "jumanji")


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of wheels that nodes without a network install from."""
    return download_wheels(tmp_path_factory.mktemp("wheels"))


def test_a_cluster_that_does_not_answer(mosaic_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["clusters", "check", "ray:127.0.0.1:1"]) == 1  # builds the bridge's environment first
    assert "(127.0.0.1:1): nothing answers at 127.0.0.1:1" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("which", "seconds"),
    [
        pytest.param("not extended", _SECONDS, marks=pytest.mark.timeout(_SECONDS + _BUILDING)),
        pytest.param(
            "extended",
            _EXTENDED_SECONDS,
            marks=[pytest.mark.extended, pytest.mark.timeout(_EXTENDED_SECONDS + _BUILDING)],
        ),
    ],
)
def test_on_a_cluster(which: str, seconds: float, mosaic_home: Path, wheels: Path, tmp_path: Path) -> None:
    for worker in _FAMILIES if which == "extended" else ("script",):
        main(["workers", "install", worker])
    main(["clusters", "check", "ray:127.0.0.1:1"])
    if which == "extended":
        clusters.add(Cluster("older", "127.0.0.1:1", ray_version=OLDER_RAY))
        main(["clusters", "check", "older"])  # nothing answers, but the environment is built
        clusters.remove("older")
    tests = [sys.executable, "-m", "pytest", str(_TESTS), "--quiet", "-p", "no:cacheprovider", "-rA"]
    done = run_inside([*tests, "-m", which, f"--basetemp={tmp_path}/tests"], wheels, seconds)
    print(done.stdout)
    assert done.returncode == 0
