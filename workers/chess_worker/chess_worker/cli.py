"""The worker's metadata and command line, `python -m chess_worker.cli`."""

from __future__ import annotations

import sys

from mosaic_contract import (
    AgentSetup,
    Operator,
    Worker,
    WorkerCapabilities,
    WorkerMetadata,
    describe_worker,
    main,
)


def get_worker_metadata() -> tuple[WorkerMetadata, WorkerCapabilities]:
    """Return the worker's metadata and capabilities. Imports neither python-chess nor an SDK."""
    return describe_worker(
        "chess",
        "mosaic-chess-worker",
        upstream_library="chess",
        supported_paradigms=["aec"],
        env_families=["pettingzoo"],
        action_spaces=["Discrete"],
        modes=["operate"],
    )


def operate(setup: AgentSetup) -> Operator:
    """Return an agent's player: an engine if the settings name a program, else a language model."""
    if "program" in setup.settings:
        from .engine import EnginePlayer

        return EnginePlayer(setup)
    from .player import ModelPlayer

    return ModelPlayer(setup)


WORKER = Worker(get_worker_metadata, operate=operate, concurrent=True)

if __name__ == "__main__":
    sys.exit(main(WORKER))
