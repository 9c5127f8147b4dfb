"""`python -m xuance_worker.cli --config FILE`, `--interactive` or `--arena`: the worker's command line."""

from __future__ import annotations

import os
import sys
from typing import Any, Mapping

from mosaic_contract import AgentSetup, Operator, Telemetry, TrainingConfig, Worker, main

from . import get_worker_metadata
from .config import resolve
from .environments import make_for_arena
from .hyperparameters import all_hyperparameters


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    """Train to the end; upstream is imported here and not for a dry run."""
    from . import runtime

    return runtime.train(config, telemetry)


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent."""
    from . import operator

    return operator.operate(setup)


WORKER = Worker(
    get_worker_metadata, resolve, train, all_hyperparameters, operate=operate, make_environment=make_for_arena
)

if __name__ == "__main__":
    os.environ.setdefault("WANDB_MODE", "disabled")  # upstream imports it; nothing is ever sent
    # Bars are for terminals, and this is a log. Switched off, upstream's recurrent loop would miss its own.
    os.environ.setdefault("TQDM_DELAY", "1e9")
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("SDL_NO_SIGNAL_HANDLERS", "1")  # SDL would swallow SIGTERM
    sys.exit(main(WORKER))
