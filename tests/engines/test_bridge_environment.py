"""The bridge's environment uses the cluster's versions, as reported by the cluster or set in its profile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mosaic_lab.engines import bridge_environment
from mosaic_lab.engines.bridge_environment import bridge_python, describe_cluster
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.engines.engine import Unreachable
from mosaic_lab.engines.ray.connection import WrongVersions, explained
from mosaic_lab.errors import ConfigurationError, MosaicError
from mosaic_lab.workers.home import ProgressCallback, home

MISMATCH = """Version mismatch: The cluster was started with:
    Ray: 2.55.1
    Python: 3.12.4
This process on 10.0.0.9 was started with:
    Ray: 2.60.0
    Python: 3.11.7
"""


class FakeCluster:
    """A cluster with these versions. ``says=False``: it does not report them, as through Ray's client."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *versions: str, says: bool = True) -> None:
        self.tried: list[tuple[str, ...]] = []
        self._versions = versions
        self._says = says
        monkeypatch.setattr(bridge_environment, "_ensure", self._ensure)
        monkeypatch.setattr(bridge_environment, "_answer_of", self._answer)

    def _ensure(self, versions: Sequence[str], progress: ProgressCallback) -> Path:
        (home() / "bridges").mkdir(parents=True, exist_ok=True)
        return Path(*versions)

    def _answer(self, cluster: Cluster, python: Path) -> dict[str, Any]:
        self.tried.append(python.parts)
        names = dict(zip(("ray", "python"), self._versions, strict=True))
        if python.parts == self._versions:
            return {"nodes": [], **names}
        return {"problem": "it has others", **(names if self._says else {})}


CLUSTER = Cluster("gpu-lab", "10.0.0.5:6379")


def test_what_the_cluster_says_of_its_versions_is_built_and_remembered(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeCluster(monkeypatch, "2.55.1", "3.12.4")
    assert describe_cluster(CLUSTER, print)["ray"] == "2.55.1"
    assert fake.tried[1:] == [("2.55.1", "3.12.4")]
    describe_cluster(CLUSTER, print)
    assert fake.tried[2:] == [("2.55.1", "3.12.4")]
    assert bridge_python(CLUSTER, print) == Path("2.55.1", "3.12.4")
    assert len(fake.tried) == 3, "starting a run must not check a checked cluster again"


def test_versions_of_a_profile_are_tried_first(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeCluster(monkeypatch, "2.55.1", "3.12.4", says=False)
    with pytest.raises(MosaicError, match=r"cluster gpu-lab \(10\.0\.0\.5:6379\): it has others"):
        describe_cluster(CLUSTER, print)
    named = Cluster("gpu-lab", "10.0.0.5:6379", ray_version="2.55.1", python="3.12.4")
    assert describe_cluster(named, print)["python"] == "3.12.4"
    assert fake.tried[1:] == [("2.55.1", "3.12.4")]


def test_a_version_is_a_whole_one() -> None:
    with pytest.raises(ConfigurationError, match=r"python='3\.11' is not a full version, such as 3\.11\.7"):
        Cluster("gpu-lab", "10.0.0.5:6379", python="3.11")


def test_the_first_run_says_once_that_a_cluster_asks_for_no_token(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    FakeCluster(monkeypatch, bridge_environment.RAY_VERSION, bridge_environment.platform.python_version())
    said: list[str] = []
    for _ in range(2):
        bridge_python(CLUSTER, said.append)
    (line,) = said
    assert line.startswith(
        "gpu-lab (10.0.0.5:6379): It requires no token: anyone who reaches its ports can run"
    )
    monkeypatch.setenv("LAB_TOKEN", "secret")
    bridge_python(Cluster("other", "10.0.0.6:6379", token_env="LAB_TOKEN"), said.append)
    assert said == [line]


def test_why_a_connection_was_refused() -> None:
    versions = explained("gpu-lab", RuntimeError(MISMATCH))
    assert isinstance(versions, WrongVersions)
    assert (versions.ray_version, versions.python) == ("2.55.1", "3.12.4")
    assert "gpu-lab has Ray 2.55.1 and Python 3.12.4, the bridge has others" in str(versions)
    aborted = explained("gpu-lab", ConnectionAbortedError("Initialization failure from server:\nTraceback"))
    assert isinstance(aborted, Unreachable)
    assert "takes them as --ray-version and --python" in str(aborted)
    token = explained("gpu-lab", RuntimeError("Invalid or missing authentication token"))
    assert str(token).endswith("; the token is missing or wrong")
