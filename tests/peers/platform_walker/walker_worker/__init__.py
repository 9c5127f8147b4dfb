"""A worker in the form of the MOSAIC platform's workers, independent of MOSAIC Lab."""

from __future__ import annotations

from walker_worker.runtime import Walker  # noqa: F401 (like the platform's workers: importing the package loads it all)

__version__ = "0.3.0"


def get_worker_metadata() -> tuple:
    from gym_gui.core.worker import WorkerCapabilities, WorkerMetadata

    metadata = WorkerMetadata(
        name="Walker Worker",
        version=__version__,
        description="Walks",
        author="The walker developers",
        homepage="",
        upstream_library=None,
        upstream_version=None,
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="walker",
        supported_paradigms=("sequential",),
        env_families=("gymnasium",),
        action_spaces=("discrete",),
        observation_spaces=("structured",),
        max_agents=8,
        supports_self_play=False,
        supports_population=False,
        supports_checkpointing=True,
        supports_pause_resume=False,
        requires_gpu=False,
        gpu_memory_mb=None,
        cpu_cores=1,
        estimated_memory_mb=32,
    )
    return metadata, capabilities
