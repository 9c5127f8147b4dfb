"""MOSAIC Lab's worker for vision models that act from the environment's picture."""

from __future__ import annotations

from importlib import metadata

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return what this worker is and what it can do. Imports no SDK."""
    about = WorkerMetadata(
        name="vlm",
        version=__version__,
        description="Vision models: OpenAI, Anthropic, or any compatible server; the frame is in the prompt",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/openai/openai-python",
        upstream_library="openai, anthropic",
        upstream_version=", ".join(metadata.version(name) for name in ("openai", "anthropic")),
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="vlm",
        supported_paradigms=["single_agent", "parallel", "aec"],
        action_spaces=["Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict", "Text"],
        max_agents=1000,
        estimated_memory_mb=120,
        modes=["operate"],
    )
    return about, capabilities
