"""MOSAIC Lab's environments of Gymnasium, PettingZoo, mpe2 and MiniGrid."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker, package_facts
from mosaic_contract.metadata import PARADIGMS


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports none of them."""
    return describe_worker(
        "gymnasium",
        **package_facts("mosaic-gymnasium-worker"),
        upstream_library="gymnasium",
        supported_paradigms=PARADIGMS,
        env_families=["gymnasium", "pettingzoo", "mpe2", "minigrid"],
        max_agents=100,
        modes=["arena"],
    )
