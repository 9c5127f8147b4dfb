"""MOSAIC Lab's worker for RLlib: upstream's algorithms in this process, its runners here or on a cluster."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker

__version__ = "0.1.0"

_BOUND = (
    "RLlib's own checkpoint brings settings along, of its optimisers for one: which of those given take "
    "effect instead, and when, is not known"
)


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports nothing of upstream."""
    from .algorithms import ALGORITHMS

    return describe_worker(
        "rllib",
        __version__,
        "RLlib: single agents on Gymnasium, teams on parallel environments, past one machine with Ray",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/ray-project/ray",
        upstream_library="ray",
        license="MIT",
        supported_paradigms=["single_agent", "parallel"],
        env_families=["gymnasium", "mpe2", "pettingzoo"],
        action_spaces=["discrete", "continuous"],
        observation_spaces=["vector", "image"],
        max_agents=100,
        supports_self_play=True,
        supports_checkpointing=True,
        estimated_memory_mb=1200,
        algorithms=list(ALGORITHMS),
        modes=["train", "operate", "arena"],
        algorithm_facts={
            name: {
                "actions": " or ".join(one.actions),
                "agents": "one or a team",
                "learning": "on-policy" if one.on_policy else "off-policy",
            }
            for name, one in ALGORITHMS.items()
        },
        resume_bound={name: {"*": _BOUND} for name in ALGORITHMS},
        resume_elsewhere=list(ALGORITHMS),
    )
