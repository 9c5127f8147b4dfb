"""`python -m jumanji_worker.cli` with `--config FILE`, `--interactive` or `--arena`: the command line."""

from __future__ import annotations

import logging
import os
from typing import Any, Mapping

from mosaic_contract import AgentSetup, Operator, Telemetry, TrainingConfig, Worker, main
from mosaic_contract.arena import EnvironmentFacts

from . import get_worker_metadata
from .config import resolve
from .environments import known
from .hyperparameters import all_hyperparameters
from .process_setup import prepare


def train(config: TrainingConfig, telemetry: Telemetry) -> Mapping[str, Any]:
    """Train to the end; JAX is imported here and not for a dry run."""
    from . import runtime

    return runtime.train(config, telemetry)


def operate(setup: AgentSetup) -> Operator:
    """Return the operator of one agent."""
    from . import operator

    return operator.operate(setup)


def make_environment(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    """Make an environment for an arena."""
    from .arena_environment import ArenaEnvironment

    return ArenaEnvironment(env_id, settings)


def facts_of(env: Any, agent: str) -> EnvironmentFacts:
    """Return the names of an environment's actions and their keys."""
    from .environment_facts import facts_of

    return facts_of(env)


WORKER = Worker(
    get_worker_metadata,
    resolve,
    train,
    all_hyperparameters,
    operate=operate,
    make_environment=make_environment,
    environment_facts=facts_of,
    environments=known,
)

if __name__ == "__main__":
    prepare()
    code = main(WORKER)
    logging.shutdown()
    # A thread may be deep in XLA's compiler, which taking the interpreter apart would crash.
    os._exit(code)
