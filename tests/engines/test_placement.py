"""GPUs that a run on a cluster reserves: the request, else the cluster's profile."""

from __future__ import annotations

from pathlib import Path

from mosaic_lab.engines import clusters
from mosaic_lab.engines.clusters import Cluster
from mosaic_lab.engines.placement import given_gpus


def test_no_gpus_are_none_and_what_is_not_said_is_the_profile_s(own_home: Path) -> None:
    clusters.add(Cluster("gpu-lab", "10.0.0.5:6379", gpus=1))
    assert given_gpus(0, "gpu-lab") == 0
    assert given_gpus(2, "gpu-lab") == 2
    assert given_gpus(None, "gpu-lab") == 1
    assert given_gpus(None, None) == 0
