"""MOSAIC Lab's worker for language models that act from text."""

from __future__ import annotations

from importlib import metadata

from mosaic_contract import WorkerCapabilities, WorkerMetadata

__version__ = "0.1.0"


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Who this worker is and what it can do. Imports no SDK and loads no model."""
    about = WorkerMetadata(
        name="llm",
        version=__version__,
        description="Language models: OpenAI, Anthropic, any compatible server, or a small one of its own",
        author="The MOSAIC Lab developers",
        homepage="https://github.com/openai/openai-python",
        upstream_library="openai, anthropic, xllamacpp",
        upstream_version=", ".join(metadata.version(name) for name in ("openai", "anthropic", "xllamacpp")),
        license="MIT",
    )
    capabilities = WorkerCapabilities(
        worker_type="llm",
        supported_paradigms=["single_agent", "parallel", "aec"],
        action_spaces=["Discrete", "Box", "MultiDiscrete", "MultiBinary", "Tuple", "Dict", "Text"],
        max_agents=1000,
        modes=["operate"],
    )
    return about, capabilities
