"""`python -m balrog_worker.cli`: the command line of the worker."""

from __future__ import annotations

import sys
from typing import Any, Mapping

from mosaic_contract import AgentSetup, Operator, Worker, main
from mosaic_contract.arena import EnvironmentFacts

from . import get_worker_metadata
from .config import PARAMETERS, resolve
from .runtime import train


def _operate(setup: AgentSetup) -> Operator:
    from .operator import BalrogOperator

    return BalrogOperator(setup)


def _make(env_id: str, settings: Mapping[str, Any], render_mode: str | None) -> Any:
    from .environments import make

    return make(env_id, settings, render_mode)


def _facts(env: Any, agent: str) -> EnvironmentFacts:
    from .environments import facts_of

    return facts_of(env, agent)


def _known() -> list[str]:
    from .environments import known

    return known()


WORKER = Worker(
    get_worker_metadata,
    resolve,
    train,
    lambda: {"eval": list(PARAMETERS.values())},
    optional=("env_id", "total_timesteps"),
    operate=_operate,
    make_environment=_make,
    environment_facts=_facts,
    environments=_known,
    concurrent=True,
)

if __name__ == "__main__":
    sys.exit(main(WORKER))
