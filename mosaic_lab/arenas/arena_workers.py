"""The workers that an arena needs: the one that makes its environment, and those of its operators.

A worker that is not installed is installed, with progress. Which worker makes an environment is decided by
making it there, in a process of its own, with a deadline.
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

from mosaic_lab import workers
from mosaic_lab.arenas.arena_session import OPEN_SECONDS
from mosaic_lab.arenas.environment_info import EnvironmentInfo
from mosaic_lab.arenas.plan import ArenaPlan
from mosaic_lab.errors import ConfigurationError
from mosaic_lab.keeper.environment_variables import compose_variables
from mosaic_lab.operators import OperatorSpec
from mosaic_lab.workers import WorkerEnvironment
from mosaic_lab.workers.families import claims, same_environment
from mosaic_lab.workers.own_environments import own_id

_made: dict[tuple[str, str], EnvironmentInfo] = {}
"""Environments that this process has seen made, by the Python that made them and their id, settings and
variables."""

R = TypeVar("R", bound=ArenaPlan)


def with_provider(plan: R, chosen: str | None, progress: Callable[[str], None]) -> R:
    """Return the plan with the worker that makes its environment as ``family``; ``chosen`` by the user,
    that.

    Without a choice it is the worker that the id is known from, or where that takes any id and cannot make
    this one, a worker that a policy among the operators was trained by on this environment, which
    ``progress`` says. Raises ConfigurationError where none of them can make it, with the names of others that
    can.
    """
    return plan if chosen is not None else replace(plan, family=_provider_of(plan, progress))


def _provider_of(plan: ArenaPlan, progress: Callable[[str], None]) -> str:
    env_id, family = plan.env_id, plan.family
    if claims(family, env_id):
        return family
    refusal = _refusal(environment_worker(family, progress), plan)
    if not refusal:
        return family
    trained = {
        spec.worker: spec.name
        for spec in plan.operators.values()
        if spec.worker is not None and spec.trained_on and same_environment(spec.trained_on, env_id)
    }
    others = {info.name: info.worker_environment for info in workers.catalog() if info.name != family}
    candidates = [one for one in others.values() if one is not None and "arena" in one.capabilities.modes]
    with ThreadPoolExecutor(max_workers=4) as pool:
        refusals = list(pool.map(lambda one: _refusal(one, plan), candidates))
    first_line = refusal.partition("\n")[0]
    able = [one.name for one, refused in zip(candidates, refusals, strict=True) if not refused]
    for name in able:
        if name in trained:
            progress(
                f"{env_id} is made by worker '{name}', which {trained[name]} was trained by, since "
                f"'{family}' cannot: {first_line}"
            )
            return name
    if able:
        choices = " or ".join(f'family="{name}"' for name in able)
        raise ConfigurationError(f"{first_line}. It can be made here with {choices}")
    advice = own_id(env_id)
    raise ConfigurationError(f"{refusal}.{advice}" if advice else refusal)


def environment_info(plan: ArenaPlan, progress: Callable[[str], None]) -> EnvironmentInfo:
    """Return the facts about the environment of a plan, which its worker makes once, unless this process
    has seen that. Raises ConfigurationError where it cannot be made."""
    answer = _info(environment_worker(plan.family, progress), plan)
    if isinstance(answer, str):
        raise ConfigurationError(answer)
    return answer


def _refusal(worker: WorkerEnvironment, plan: ArenaPlan) -> str:
    """Return why a worker cannot make the environment; empty where it can."""
    answer = _info(worker, plan)
    return answer if isinstance(answer, str) else ""


def _info(worker: WorkerEnvironment, plan: ArenaPlan) -> EnvironmentInfo | str:
    """Return the facts about the environment as a worker makes it, or why it cannot."""
    variables = {**plan.passed, **plan.environ}
    known = (str(worker.python), json.dumps([plan.env_id, plan.settings, variables]))
    if known not in _made:
        answer = _trial(worker, plan)
        if isinstance(answer, str):
            return answer
        _made[known] = answer
    return _made[known]


def _trial(worker: WorkerEnvironment, plan: ArenaPlan) -> EnvironmentInfo | str:
    """Return the facts about the environment from an arena that has made it, or why it cannot."""
    with tempfile.TemporaryDirectory(prefix="mosaic-trial-") as folder:
        commands = [plan.open_command(Path(folder)), {"cmd": "close"}]
        try:
            done = subprocess.run(
                [*worker.command(), "--arena"],
                input="".join(json.dumps(command) + "\n" for command in commands),
                cwd=folder,
                env=compose_variables(os.environ, environ=plan.environ, pass_env=plan.pass_env),
                capture_output=True,
                text=True,
                timeout=OPEN_SECONDS,
            )
            answer = json.loads(done.stdout.partition("\n")[0])
            if answer.get("type") == "opened":
                return EnvironmentInfo.from_message(answer)
        except subprocess.TimeoutExpired:
            return f"{plan.env_id} was not made within {OPEN_SECONDS:g} s"
        except (OSError, ValueError, KeyError, TypeError) as error:
            return f"worker '{worker.name}' did not answer whether it can make {plan.env_id}: {error}"
    return str(answer.get("message") or answer)


def environment_worker(family: str, progress: Callable[[str], None]) -> WorkerEnvironment:
    """Return the worker ``family``. Raises ConfigurationError when it provides no environments."""
    return _worker(family, "arena", "provides no environments", progress)


def operator_commands(specs: Iterable[OperatorSpec], progress: Callable[[str], None]) -> dict[str, list[str]]:
    """Return the command of each worker that these operators need. Raises ConfigurationError for one that has
    no operators.
    """
    names = sorted({spec.worker for spec in specs if spec.worker is not None})
    return {name: _worker(name, "operate", "has no operators", progress).command() for name in names}


def _worker(name: str, mode: str, lacks: str, progress: Callable[[str], None]) -> WorkerEnvironment:
    worker_environment = workers.ensure(name, progress)
    if mode not in worker_environment.capabilities.modes:
        modes = ", ".join(worker_environment.capabilities.modes)
        raise ConfigurationError(f"worker '{name}' {lacks}: it can {modes or 'do nothing'}")
    return worker_environment
