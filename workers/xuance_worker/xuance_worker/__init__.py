"""MOSAIC Lab's worker for XuanCe: upstream's agents, learners and buffers, in this process."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of upstream."""
    from .algorithms import ALGORITHMS, BOUND

    return describe_worker(
        "xuance",
        __version__,
        "XuanCe: teams on mpe2 and PettingZoo environments, single agents on Gymnasium",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/agi-brain/xuance",
        upstream_library="xuance",
        license="MIT",
        supported_paradigms=["single_agent", "parallel"],
        env_families=["gymnasium", "mpe2", "pettingzoo"],
        action_spaces=["discrete", "continuous"],
        observation_spaces=["vector", "image"],
        max_agents=100,
        supports_checkpointing=True,
        estimated_memory_mb=600,
        algorithms=list(ALGORITHMS),
        modes=["train", "operate", "arena"],
        algorithm_facts={
            name: {
                "actions": one.actions,
                "agents": "a team" if one.several else "one",
                "learning": "on-policy" if one.on_policy else "off-policy",
            }
            for name, one in ALGORITHMS.items()
        },
        resume_bound=dict.fromkeys(ALGORITHMS, BOUND),
        resume_elsewhere=list(ALGORITHMS),
    )
