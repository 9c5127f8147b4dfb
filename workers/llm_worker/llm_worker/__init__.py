"""MOSAIC Lab's worker for language models that act from text."""

from __future__ import annotations

from mosaic_contract import WorkerCapabilities, WorkerMetadata, describe_worker
from mosaic_contract.metadata import ACTION_SPACES, PARADIGMS

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports no SDK and loads no model."""
    return describe_worker(
        "llm",
        __version__,
        "Language models: OpenAI, Anthropic, any compatible server, or a small one of its own",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/openai/openai-python",
        upstream_library="openai, anthropic, xllamacpp",
        license="MIT",
        supported_paradigms=PARADIGMS,
        action_spaces=ACTION_SPACES,
        max_agents=1000,
        modes=["operate"],
    )
