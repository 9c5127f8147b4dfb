"""The workers of an arena: the environment's and the operators'.

Missing workers are installed, with progress. To find out whether a worker provides an environment, the
environment is created there, in a separate process with a deadline.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from mosaic_contract.arena.start import Start
from msgspec import structs

from mosaic_lab import workers
from mosaic_lab.arenas.arena_client import OPEN_SECONDS
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.workers import WorkerEnvironment
from mosaic_lab.workers.families import claims, same_environment
from mosaic_lab.workers.own_environments import own_id

_MAX_TRIED_SEEDS = 3

_environments: dict[tuple[str, str], EnvironmentInfo] = {}
"""Environments that this process has created, by their worker's Python, id, settings and variables."""

R = TypeVar("R", bound=ArenaPlan)


def with_provider(plan: R, chosen: str | None, progress: Callable[[str], None]) -> R:
    """Return the plan with the environment's worker as ``family``, which is ``chosen`` if given.

    Otherwise it is the worker known for the id. If that worker accepts any id but cannot make this
    environment, it is one that has trained an operator's policy in it, which is reported to ``progress``.
    Raises ConfigurationError if there is none, naming other workers that can make it.
    """
    return plan if chosen is not None else replace(plan, family=_provider_of(plan, progress))


def _provider_of(plan: ArenaPlan, progress: Callable[[str], None]) -> str:
    env_id, family = plan.env_id, plan.family
    if claims(family, env_id):
        return family
    # Without the start: one that does not fit the environment would be refused by every worker.
    plan = replace(plan, request=structs.replace(plan.request, start=None))
    refusal = _refusal(environment_worker(family, progress), plan)
    if not refusal:
        return family
    trained = {
        spec.worker: spec.name
        for spec in plan.operators.values()
        if spec.worker is not None and spec.trained_on and same_environment(spec.trained_on, env_id)
    }
    environments = {info.name: info.worker_environment for info in workers.catalog() if info.name != family}
    candidates = [
        candidate
        for candidate in environments.values()
        if candidate is not None and "arena" in candidate.capabilities.modes
    ]
    with ThreadPoolExecutor(max_workers=4) as pool:
        refusals = list(pool.map(lambda candidate: _refusal(candidate, plan), candidates))
    first_line = refusal.partition("\n")[0]
    able = [candidate.name for candidate, refused in zip(candidates, refusals, strict=True) if not refused]
    for name in able:
        if name in trained:
            progress(
                f"{env_id} is made by worker '{name}', which trained {trained[name]}, because '{family}' "
                f"cannot: {first_line}"
            )
            return name
    if able:
        choices = " or ".join(f'family="{name}"' for name in able)
        raise ConfigurationError(f"{first_line}. It can be made here with {choices}")
    advice = own_id(env_id)
    raise ConfigurationError(f"{refusal}.{advice}" if advice else refusal)


def environment_info(plan: ArenaPlan, progress: Callable[[str], None]) -> EnvironmentInfo:
    """Return information about a plan's environment, which its worker creates once per process. Raises
    ConfigurationError if it cannot be made."""
    answer = _info(environment_worker(plan.family, progress), plan)
    if isinstance(answer, str):
        raise ConfigurationError(answer)
    return answer


def _refusal(worker: WorkerEnvironment, plan: ArenaPlan) -> str:
    """Return why a worker cannot make the environment; empty if it can."""
    answer = _info(worker, plan)
    return answer if isinstance(answer, str) else ""


def _info(worker: WorkerEnvironment, plan: ArenaPlan) -> EnvironmentInfo | str:
    """Return information about the environment made by a worker, or why it cannot be made."""
    variables = {**plan.passed, **plan.env_vars}
    begins = plan.request.start, _tried_seeds(plan)
    key = (str(worker.python), json.dumps([plan.env_id, plan.settings, variables, begins]))
    if key not in _environments:
        answer = _trial(worker, plan)
        if isinstance(answer, str):
            return answer
        _environments[key] = answer
    return _environments[key]


def _trial(worker: WorkerEnvironment, plan: ArenaPlan) -> EnvironmentInfo | str:
    """Create the environment in an arena and return information about it, or why it cannot be made."""
    with tempfile.TemporaryDirectory(prefix="mosaic-trial-") as folder:
        opening, seeds = plan.open_command(Path(folder)) | {"record": None}, _tried_seeds(plan)
        begin = [{"cmd": "replay", "seed": seed} for seed in seeds]
        commands = [opening, *begin, {"cmd": "close"}]
        try:
            done = subprocess.run(
                [*worker.command(), "--arena"],
                input="".join(json.dumps(command) + "\n" for command in commands),
                cwd=folder,
                env=compose_variables(os.environ, env_vars=plan.env_vars, pass_env_vars=plan.pass_env_vars),
                capture_output=True,
                text=True,
                timeout=OPEN_SECONDS * (1 + len(seeds)),
            )
            opened, *replayed = map(json.loads, done.stdout.splitlines())
            answer = next((reply for reply in (opened, *replayed) if reply.get("type") == "error"), opened)
            if answer.get("type") == "opened":
                return EnvironmentInfo.from_message(answer)
        except subprocess.TimeoutExpired:
            return f"{plan.env_id} was not made within {OPEN_SECONDS * (1 + len(seeds)):g} s"
        except (OSError, ValueError, KeyError, TypeError) as error:
            return f"worker '{worker.name}' did not answer whether it can make {plan.env_id}: {error}"
    return str(answer.get("message") or answer)


def _tried_seeds(plan: ArenaPlan) -> list[int]:
    """Return the seeds on which a trial begins episodes: some of the plan's, if its start plays actions."""
    if not Start.of(plan.request.start).actions:
        return []
    return [plan.episode_seed(seed, 0) for seed in plan.seeds[:_MAX_TRIED_SEEDS]]


def environment_worker(family: str, progress: Callable[[str], None]) -> WorkerEnvironment:
    """Return the worker ``family``. Raises ConfigurationError if it provides no environments."""
    return _worker(family, "arena", "provides no environments", progress)


def operator_commands(specs: Iterable[OperatorSpec], progress: Callable[[str], None]) -> dict[str, list[str]]:
    """Return the command of each worker that these operators need. Raises ConfigurationError for a worker
    without operators."""
    names = sorted({spec.worker for spec in specs if spec.worker is not None})
    return {name: _worker(name, "operate", "has no operators", progress).command() for name in names}


def _worker(name: str, mode: str, lacks: str, progress: Callable[[str], None]) -> WorkerEnvironment:
    worker_environment = workers.ensure(name, progress)
    if mode not in worker_environment.capabilities.modes:
        modes = ", ".join(worker_environment.capabilities.modes)
        raise ConfigurationError(f"worker '{name}' {lacks}: it can {modes or 'do nothing'}")
    return worker_environment
