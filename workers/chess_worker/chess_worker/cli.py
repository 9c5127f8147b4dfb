"""`python -m chess_worker.cli --interactive`: the command line of the worker."""

from __future__ import annotations

import sys

from mosaic_contract import AgentSetup, Operator, Worker, main

from . import get_worker_metadata


def operate(setup: AgentSetup) -> Operator:
    """Return an agent's player: an engine where the settings name its program, else a language model."""
    if "program" in setup.settings:
        from .engine import EnginePlayer

        return EnginePlayer(setup)
    from .player import ModelPlayer

    return ModelPlayer(setup)


WORKER = Worker(get_worker_metadata, operate=operate, concurrent=True)

if __name__ == "__main__":
    sys.exit(main(WORKER))
