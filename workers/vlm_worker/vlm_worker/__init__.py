"""MOSAIC Lab's worker for vision models that act from the environment's picture."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker
from mosaic_contract.metadata import ACTION_SPACES, PARADIGMS

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no SDK."""
    return describe_worker(
        "vlm",
        __version__,
        "Vision models: OpenAI, Anthropic, or any compatible server; the frame is in the prompt",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/openai/openai-python",
        upstream_library="openai, anthropic",
        license="MIT",
        supported_paradigms=PARADIGMS,
        action_spaces=ACTION_SPACES,
        max_agents=1000,
        estimated_memory_mb=120,
        modes=["operate"],
    )
